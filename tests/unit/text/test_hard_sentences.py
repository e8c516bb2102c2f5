"""G1: sentences that splitters get wrong; ``|`` stands where one ends and the next begins."""

from __future__ import annotations

import pytest

from pytest_rageval.text.sentences import split_sentences

ENGLISH = """
Dr. Eiffel met Mrs. Smith.|They talked.
It opened at 9 a.m. on Monday.|It closed at 5 p.m.
The store opens at 9 a.m.|It closes at 5 p.m.
Apple Inc. was founded in 1976.|It is in Cupertino.
He works for Smith & Co. in the U.S. today.
He lives in the U.S.|He likes it.
The U.S. Army bought it.
The U.S. Supreme Court ruled on it.|The case ended.
See Fig. 3 and Eq. 4.2 on p. 17.|They agree.
It weighs approx. 5 kg, i.e. little.
Bring shoes, hats, etc.|Leave the rest.
Bring shoes, hats, etc. to the desk.
Smith et al. found no effect.|Others did.
Smith et al. (2020) found no effect.
J. K. Rowling wrote it.|She was born in 1965.
George W. Bush was president.
Choose plan B.|It is cheaper.
Is it vitamin C?|No, it is vitamin D.
The tower is 330 m.|Visitors climb 1,665 steps.
Python 3.11.7 was used.|It is fast.
Use v2.0.1 of the tool.|See https://example.org/a.b?c=d!e for more.
Write to a.b@example.org.|We answer.
Run Node.js and ASP.NET.|Both work.
It costs $3.50.|That is cheap.
"It opened," he said.|"It is high."
He asked, "Why?"|Nobody knew.
"Why?" he asked.|Nobody knew.
"Stop!" she cried and left.
(It opened in 1889.)|It is high.
It is high (see p. 5.).|It is old.
Yahoo! was sold.|It was cheap.
Wait... there is more.
Wait...|There is more.
Really?!|Yes.
It is **very high.**|It is old.
1. Open the lid.
- One thing.|- Another thing
The answer is no.|No. 5 is alive.
It opened on Jan. 5, 1889.|It closed in Dec.
It was no. 1 in 1889.|It is no. 2 now.
It opened vs. it closed, cf. the guide.
St. Petersburg is large.|Mt. Everest is high.
He has a Ph.D. in physics.|She has none.
He holds a Ph.D.|She holds an M.Sc.
Martin Luther King Jr. spoke.|People heard him.
The files are a.txt, b.pdf.|They are small.
It opened in 1889.[1]|It is 330 m high.[2][3]
It opened in 1889. [1]|It is 330 m high. [2, 3]
It opened in 1889.【1†source】|It is 330 m high.
It opened in 1889.¹|It is 330 m high.²
it opened in 1889.|it is high.
The iPhone sold well.|iPads did, too.
Between 1889 and 1930 it was the highest.|In 1930 it was not.
"""

CHINESE = """
该塔于1889年开放。|高330米。
该塔开放；|很高；|很老。
真的吗？|是的！|很好。
他说：“很高。”|然后走了。
他说：“很高！”|她说：“不高。”
（详见第5页。）|该塔很高。
该塔（高330米）很有名。|游客很多。
《铁塔指南。》|很有用。
该塔高330.5米。|重7300吨。
使用3.11.7版。|很快。
见https://example.org/a.b?c=d。|很好。
由Dr. Eiffel建造。|很有名。
由J. Eiffel设计。|很有名。
什么？！|不可能！！
等等……。|然后呢？
该塔开放.|高330米.
该塔开放. |高330米.
真的吗?|是的!|很好.
该塔开放。[1]|高330米。[2]
该塔开放。【1】|高330米。【2】
该塔开放[1]。|高330米[2]。
该塔开放。［1］|高330米。
第一，很高；|第二，很老。
1. 打开盖子。|2. 关上盖子。
1、打开盖子。|2、关上盖子。
- 一件事|- 另一件事
一、打开盖子|二、关上盖子
他问：“为什么？”|没人知道。
“为什么？”|他问。
「很高。」|他说。
『很高。』|他说。
该塔高330米,重7300吨。|很有名。
价格为￥3.50。|很便宜。
版本是v2.0。|已发布。
AWEL是工作流语言。|It is a language.
It is a language.|它是工作流语言。
退货期限为30天，如包装完好、未使用等。|逾期不退。
订单No. 5已发货。|请查收。
请联系a.b@example.org。|谢谢。
铁塔（Eiffel Tower）高330米。|建于1889年。
对不起，您的订单已取消。|请重新下单。
温度为-5.5℃。|很冷。
比例为3:1。|很高。
时间是9:30。|会议开始。
"""


def cases(text: str) -> list[list[str]]:
    return [[part.strip() for part in line.split("|")] for line in text.strip().splitlines()]


@pytest.mark.parametrize("sentences", cases(ENGLISH), ids=" ".join)
def test_english_sentences_end_where_they_end(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize("sentences", cases(CHINESE), ids="".join)
def test_chinese_sentences_end_where_they_end(sentences: list[str]) -> None:
    """No blanks between them, but for Latin script and lines of a list."""
    joined = "".join(sentences)
    if sentences[0][0] in "1-一" or "It is a language." in sentences:
        joined = "\n".join(sentences)
    assert split_sentences(joined) == sentences
