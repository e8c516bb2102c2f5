{
    "em": [
        0.0,
        1.0,
        null,
        null
    ],
    "g1": [
        0.0,
        1.0,
        null,
        null
    ],
    "rouge-l": [
        0.0,
        1.0,
        null,
        null
    ],
    "avg_em": 0.5,
    "avg_g1": 0.5,
    "avg_rouge-l": 0.5
}
