// Chinese for what the run said about gates and comparisons that the page cannot recompute.

/** The English of `made_text` in pytest_rageval/stats/wording.py, and of reports/made_questions.py. */
const MADE_WORDS = [
  [/(\d+) made questions?(?=, \d+ reviewed)/, "$1 个问题由模型生成"],
  [/(\d+) of (\d+) questions (?:is|are) made by a model/, "$2 个问题中有 $1 个由模型生成"],
  [/, (\d+) (?:of them )?reviewed by a person/, "，其中 $1 个经人工审核"],
  [/, (\d+) rows? rejected \(left out\)/, "，另有 $1 行被人工拒绝（已剔除）"],
  [
    /; a mean over made questions tells versions apart; it is no estimate of quality for users$/,
    "；在生成的问题上，均值可用于区分版本，不能用来估计系统对用户的质量",
  ],
  [
    /^(.+) is (\S+(?: \(\S+\))?) over (?:(\d+) of )?(\d+) made questions?, (\S+(?: \(\S+\))?) over (?:(\d+) of )?(\d+) others?$/,
    (_, name, mean, n, of, other, m, ofOthers) =>
      `${name}：生成的问题 ${mean}（${withScores(n, of)}），其他问题 ${other}（${withScores(m, ofOthers)}）`,
  ],
  [
    /^means of made and other questions apart: not estimated where a sample is asked$/,
    "抽样运行不分别估计生成的问题和其他问题的均值",
  ],
];

function withScores(n, total) {
  return n === undefined ? `${total} 个` : `${total} 个中的 ${n} 个`;
}

/** The English of pytest_rageval/stats/filled.py: holes in judgements that a judge filled. */
const HOLE_WORDS = [
  [/, of ([\d,]+) judgements ([\d,]+) by the judge/, "，$1 个判定中有 $2 个来自裁判"],
  [/of ([\d,]+) judgements ([\d,]+) by the judge/, "$1 个判定中有 $2 个来自裁判"],
  [/(?<=来自裁判); (?=\d+ %)/, ", "],
  [/^holes filled by the judge: /, "由裁判补上的未评判文档："],
  [
    /the judge is not checked: it graded (\d+) documents that people judged, and (\d+) are the least; raise fill\.check, give judged documents texts \(corpus\), or have people judge more/,
    "裁判未经检验：人工已评判的文档中，它只评了 $1 个，至少需要 $2 个；请调大 fill.check、为已评判的文档提供文本（corpus），或由人工评判更多文档",
  ],
  [
    /the judge cannot be checked: of the (\d+) documents that it graded, too, people found all relevant, or none; have others judged \(not relevant ones are grade 0\), or raise fill\.check/,
    "无法检验裁判：它也评过的 $1 个文档，人工认为全部相关或全部不相关；请再评判其他文档（不相关的等级为 0），或调大 fill.check",
  ],
  [
    /the judge is not believed: its weighted kappa with people is (\S+) on (\d+) documents, and (\S+) is the least; take another judge, or have people judge the holes/,
    "裁判不可信：它与人工的加权 kappa 在 $2 个文档上为 $1，至少需要 $3；请换一个裁判，或由人工评判这些文档",
  ],
  [/weighted kappa with people (\S+) on (\d+) documents/, "在 $2 个文档上与人工的加权 kappa 为 $1"],
  [/, (\d+) more without a grade/, "，另有 $1 个没有等级"],
  [/; left open: /, "；仍未评判："],
  [/(\d+) holes? whose replies could not be read/, "回复无法读取的 $1 个"],
  [/(?<=的 \d+ 个), (?=\d+ holes?)/, "，"],
  [/(\d+) holes? without a text/, "没有文本的 $1 个"],
];

/** How steady a judge is, from pytest_rageval/stats/stability.py. */
const STEADY_WORDS = [
  [/a second run would differ in less than 1 %/g, "再运行一次，结论不同的可能性不到 1%"],
  [/a second run would differ in ([\d.e+-]+) %/g, "再运行一次，结论不同的可能性为 $1%"],
  [/no flip seen in (\d+) repeats of (\d+) samples?/g, "$2 个样本各重复 $1 次，判定均未改变"],
  [/how sure this is, is not known: /g, "无法得知此结论有多可靠："],
  [/(?:, )?(\d+) of (\d+) judged samples lack a second score/g, "，$2 个经裁判评分的样本中有 $1 个缺少第二个分数"],
  [/(?<=：)，(?=\d+ 个经裁判)/g, ""],
  [/the judge scored no sample/g, "裁判没有给任何样本评分"],
];

/** The English of pytest_rageval/gates, engine/verdict/decide.py and stats/paired*.py; `$1` are figures. */
const RUN_WORDS = [
  ...MADE_WORDS,
  ...HOLE_WORDS,
  // gates that the page does not compute anew
  [/^no sample has a confidence; name its column, (.+)$/, "没有样本有置信度；请写明它所在的列：$1"],
  [/(\d+) of (\d+) samples? have no confidence; if that is in order, ('gates: .+?') would allow it/, "$2 个样本中有 $1 个没有置信度；若属正常，可设置 $3"],
  [/(\d+) samples? without confidence left out/, "$1 个样本没有置信度，未计入"],
  [/the most confident (\d+) of (\d+), from (\S+?) up/, "置信度最高的 $1 个（共 $2 个，均不低于 $3）"],
  [/(?<=均不低于 \S+）|没有置信度，未计入), /g, "，"],
  [/no interval: resamples do not vary/, "无法计算区间：各次重抽样的结果相同"],
  [/no interval: too few samples/, "无法计算区间：样本太少"],
  [/no interval: too few values of (\S+?)(?=\)|,|$)/, "无法计算区间：$1 的取值太少"],
  [/no interval: fewer than (\d+) samples/, "无法计算区间：样本少于 $1 个"],
  [/no interval: fewer than (\d+) values of (\S+?)(?=\)|,|$)/, "无法计算区间：$2 的取值少于 $1 个"],
  [/, bootstrap by sample/, "，按样本的自助法"],
  [/, bootstrap by (?=\S)/, "，自助法，分组依据 "],
  [/(\d+) of (\d+) answers left out: /, "$2 个回答中有 $1 个不计入："],
  [/; not_applicable allows /, "；not_applicable 允许 "],
  [/^(\S+) applies to no answer$/, "$1 不适用于任何回答"],
  [/^there are no rows$/, "没有数据行"],
  [/^no sample was scored$/, "所有样本都没有分数"],
  [/^no sample has a value of (\S+)$/, "没有样本有 $1 的值"],
  [/^no sample has a score of (\S+)$/, "所有样本都没有 $1 分数"],
  [/^no sample has a score of (\S+): its threshold judged nothing/, "所有样本都没有 $1 分数：其阈值未起作用"],
  [/(\d+) scores? of (\S+) in (\d+) groups? \((.+?)\) are too few for an interval: at least 2 groups with a weight above 0 are needed/, "$2 的 $1 个分数只分布在 $3 组（$4）中，不足以计算区间：至少需要 2 个权重大于 0 的组"],
  [/(\d+) scores? of (\S+) (?:is|are) too few for an interval/, "$2 只有 $1 个分数，不足以计算区间"],
  [/; by Holm's stricter method it would pass: /, "；按更严格的 Holm 方法则会通过："],
  [/; allowed: mode (\w+), max_drop /, "；允许：模式 $1，max_drop "],
  [/; left out, as all their rows rule the metric out or weigh 0: /, "；所有行都不适用该指标或权重为 0，未计入："],
  [/; (\d+) invalid rows? without (\S+) left out/, "；$1 个无效行没有 $2，未计入"],
  [/; (\S+) left out, as all their rows rule it out: /g, "；所有行都不适用 $1，未计入："],
  [/(?<=权重为 0，未计入：.*) and (\d+) more$/, "，另有 $1 个"],
  [/^cannot be decided: no row was asked of (\d+) of (\d+) values of (.+?): (.+); ask more rows$/, "无法判定：$3 的 $2 个取值中有 $1 个没有评测任何行（$4）；请评测更多行"],
  [
    /only (\d+) of the (\d+) samples of (.+?) still have every score \((.+?) missing on (\d+)\)/g,
    (_, some, all, run, names, lost) => `${run} 的 ${all} 个样本中只有 ${some} 个仍有全部分数（${lost} 个缺 ${inARow(names)}）`,
  ],
  [/row missing on (\d+)/, "$1 个样本缺少有效数据行"],
  [/answer missing on (\d+)/, "$1 个样本缺少回答"],
  [/([^\s,，：:]+) missing on (\d+)/g, "$2 个样本缺少 $1"],
  [/: (?=\d+ 个样本缺少)/g, "："],
  [/, (?=\d+ 个样本缺少)/g, "，"],
  [/; too many to allow: look at what (.+?) failed for/, "；缺失过多，不宜放行：请查看 $1 出错的原因"],
  [/; not in the cache: no share allows that, run once without (--rag-cache=replay)/, "；缓存中没有：任何比例都不能放行，请去掉 $1 运行一次"],
  [/; no share allows what was not asked: look at what (.+?) failed for/, "；未询问的评分，任何比例都不能放行：请查看 $1 出错的原因"],
  [/; look at why (.+?) is missing; if that is in order, ('gates: .+?') would allow it/, "；请先查看 $1 缺失的原因；若属正常，可设置 $2"],
  [/; ('dataset\.on_invalid: skip') with the gate ('invalid') allows invalid rows/, "；如允许无效行，可设置 $1 和门禁 $2"],
  [/; not run: /, "；未运行："],
  [/(\d+) cases were collected, none ran \(did (.+?) take them over, or every worker crash\?\)/, "收集了 $1 个用例，均未运行（是否由 $2 接管，或所有工作进程都崩溃？）"],
  [/pytest_runtest_protocol or pytest_runtestloop of a conftest\.py or a plugin/, "conftest.py 或插件的 pytest_runtest_protocol 或 pytest_runtestloop"],
  [/^it compares the variants of a scenario file, and a test function runs one/, "它对比场景文件的各个变体，而测试函数只运行其中一个"],
  [/^no two variants have results/, "没有两个变体有结果"],
  [/the differences do not vary: the interval has no width/, "各差值完全相同：区间宽度为零"],
  [/, as if the two runs' scores had nothing in common: fewer when they have$/, "（按两次运行的分数互不相关估计：若相关，则不需要这么多）"],
  [/a score is none of the levels/, "有分数不是任何一个等级"],
  [/stratum (\S+) has (\d+) labelled answers?, fewer than 2/, "第 $1 层只有 $2 个已标注回答，至少需要 2 个"],
  [/the labels of a stratum are like those of (\S+) groups: no interval/, "某层的标注只相当于 $1 组：无法计算区间"],
  [/^(\d+) labels?, fewer than (\d+); (\d+) more are of samples without a score/, "只有 $1 个标注，至少需要 $2 个；另有 $3 个属于没有分数的样本"],
  [/ \((max-T over \d+ pairs|1 pair)\)(?=, \d+ common)/g, "（$1）"],
  [/(?<=（)1 pair(?=）)/g, "1 对"],
  [/(p [<\d.]+), max-T over (\d+) pairs ([<\d.]+)/g, "$1，max-T（$2 对）$3"],
  [/(p [<\d.]+), adjusted ([<\d.]+)/g, "$1，校正后 $2"],
  // variants: stats/ranking.py, stats/unlike.py, engine/verdict/best.py
  [/; rank by one metric: /g, "；可按单个指标排名："],
  [/; to rank them anyway: /g, "；如仍要排名："],
  [/; compared anyway$/, "；仍作对比"],
  [
    /(^|; )(\S+): (.+?) in (\S+), but (.+?) in (\S+)(?=；)/g,
    (_, before, key, one, a, other, b) => `${before}${key}：${a} 中为 ${inARow(one)}，${b} 中为 ${inARow(other)}`,
  ],
  [/中为 nothing(?=，|；|$)/g, "中为空"],
  [
    /(\d+) samples? (?:has|have) (?:another|other) (.+?) \(first: (.+?), (.+?) in (\S+), (.+?) in (\S+)\)(?=；|$)/g,
    "$1 个样本的 $2 不同（首个为 $3：$5 中为 $4，$7 中为 $6）",
  ],
  [/的 question 不同/g, "问题不同"],
  [/的 references 不同/g, "参考答案不同"],
  [/的 weight 不同/g, "权重不同"],
  [
    /on (\d+) samples? of (\d+) a metric applies in some variants only \(an empty answer\?\), and min_pairs: (\S+) asks for (\d+) that all metrics measure alike; mend these, rank by one metric \((.+?)\), or, if what is left is enough: /,
    "$2 个样本中有 $1 个的某个指标只适用于部分变体（回答为空？），而 min_pairs: $3 要求有 $4 个样本的全部指标都适用；请补齐，或按单个指标排名（$5），或者如果剩余样本足够：",
  ],
  [/^too many letters would be needed: .*; variants\.json has every pair$/, "所需字母过多：变体在各组内有差异，组间则没有；全部配对见 variants.json"],
  [/only (.+?) ran, and there is nothing to compare it with; run the other variants too/, "只运行了 $1，没有可对比的变体；请也运行其他变体"],
  [/([^;；：]+?) (?:has|have) no (\S+); rank by what all have: (.+?) \(('best: .+?')\)/, (_, names, metric, shared, key) =>
    `${inARow(names)} 没有 ${metric}；可按共有的指标排名：${inARow(shared)}（${key}）`],
  [/no sample is in the data of all of (.+?); rows are joined by their id \((.+?)\)/, (_, names, key) => `没有样本同时出现在 ${inARow(names)} 的数据中；各行按 id 匹配（${key}）`],
  [/(\S+) applies to no sample$/, "$1 不适用于任何样本"],
  [/only (\d+) of (\d+) samples? have (\S+) in all of (.+?)(?=, and min_pairs|: )/, (_, some, all, metric, names) => `${all} 个样本中只有 ${some} 个在 ${inARow(names)} 中都有 ${metric}`],
  [/(?<=都有 \S+), and min_pairs: (\S+) asks for (\d+): ?/, "，而 min_pairs: $1 要求 $2 个："],
  [/; mend these, or, if what is left is enough: /, "；请补齐，或者如果剩余样本足够："],
  [/(\S+) lacks (\d+), /g, "$1 缺 $2 个、"],
  [/(\S+) lacks (\d+)/g, "$1 缺 $2 个"],
  [/: no metric applies to them in every variant/, "：没有指标适用于所有变体中的这些样本"],
  [/; mend these$/, "；请补齐"],
  [/of (\d+) samples? a metric applies in some variants only, and is left out of all/, "有 $1 个样本的某个指标只适用于部分变体，因而不计入任何变体"],
  [/of (\d+) samples? a metric applies in one run only, and is left out of both/, "有 $1 个样本的某个指标只在其中一次运行中适用，因而两次都不计入"],
  [/^(\S+) does not apply to (\d+) rows?$/, "$2 行不适用 $1"],
  [/(\d+) samples? of (\d+) left out: /, "$2 个样本中有 $1 个未计入："],
  [/^it cannot be said that nothing is better than (.+?): /, "无法确定没有变体优于 $1："],
  [/(\d+) common samples? cannot reach p < ([\d.e-]+)/, "$1 个共有样本无论结果如何都达不到 p < $2"],
  [/^(\d+) of (\d+) variants ran/, "$2 个变体中只运行了 $1 个"],
  [/not every sample of every variant ran/, "并非每个变体的每个样本都已运行"],
  [/not compared with ([^';；]+)/, (_, names) => `未与 ${inARow(names)} 对比`],
  [/([^;；：]+?) did not run/, (_, names) => `${inARow(names)} 未运行`],
  [/; a difference below (\S+) may go unseen \(power 80 %\)/, "；小于 $1 的差异可能检测不到（检验效能 80%）"],
  [/nothing is significantly better than (.+?) \((\S+) (\S+), (\d+) common samples?, /, "没有变体显著优于 $1（$2 $3，$4 个共有样本，"],
  [
    /nothing is significantly better than (.+?) \((\S+) (\S+), (\d+) common of (\d+) samples?, /,
    "没有变体显著优于 $1（$2 $3，$5 个样本中有 $4 个共有，",
  ],
  [/, alpha ([\d.e-]+)\)/, "，alpha $1）"],
  [/max-T over (\d+) pairs/g, "max-T（$1 对）"],
  [/(?<=，)1 pair(?=，)/, "1 对"],
  [/; (\S+) is ahead by (\S+) \((.+?)\)(?=；|$)/, "；$1 领先 $2（$3）"],
  [/; (\S+) is behind by (\S+) \((.+?)\)(?=；|$)/, "；$1 落后 $2（$3）"],
  [/; (\S+) is equal \((.+?)\)(?=；|$)/, "；$1 持平（$2）"],
  [
    /(\S+) is significantly better than (\S+): (\S+) (\S+) against (\S+), difference (\S+) \((.+?)\), (p [^;]+?), (\d+) common samples?/g,
    "$1 显著优于 $2：$3 $4 对 $5，差值 $6（$7），$8，$9 个共有样本",
  ],
  // people's labels: gates/agreement.py, gates/corrected*.py, stats/label_strata.py, stats/agreement.py
  [/people and the judge use one level only/, "人工与裁判都只用了一个等级"],
  [/people use one level only/, "人工只用了一个等级"],
  [/all scores of the judge are equal/, "裁判的分数全部相同"],
  [/there are more than two levels/, "等级多于两个"],
  [/fewer than 2 samples on which people agree/, "标注者意见一致的样本少于 2 个"],
  [/fewer than 2 samples/, "样本少于 2 个"],
  [/people call no sample (\S+?)(?=$|[;, ])/, "人工未将任何样本标为 $1"],
  [/people call one sample (\S+?)(?=$|[;, ])/, "人工只将一个样本标为 $1"],
  [/the labelled samples are, wholly or nearly, of one group/, "已标注样本全部或几乎全部属于同一组"],
  [/the samples that people call (\S+) are, wholly or nearly, of one group/, "人工标为 $1 的样本全部或几乎全部属于同一组"],
  [/no sample has two annotators/, "没有样本由两人标注"],
  [/one annotator/, "只有一位标注者"],
  [/(\S+) is no level, and nothing says where to cut: write (human\.cut), or a threshold of /, "$1 不是等级，也没有划分点：请设置 $2 或阈值 "],
  [/^(\d+) labelled answers?, fewer than (\d+)$/, "只有 $1 个已标注回答，至少需要 $2 个"],
  [/^(\d+) labelled answers?, (\d+) are needed: /, "已标注 $1 个回答，需要 $2 个："],
  [/label (\d+) more(?= \()/, "请再标注 $1 个"],
  [
    /none of the (\d+) rows? of (.+?) has a label; if you labelled in the browser, hand in the file that it downloaded/g,
    "$2 的 $1 行均无标注；若在浏览器中标注，请提交其下载的文件",
  ],
  [/(\d+) rows? by (.+?), whom human\.annotators does not name: left out/g, "$2 不在指定的标注者之列，其 $1 行标注未计入"],
  [/ \(pytest (.*?)--rag-label (\d+) draws them\)/, "（pytest $1--rag-label $2 可抽取）"],
  [/; (\d+) labelled (?:answer|cell)s? chosen by a person: none weighs by its stratum/, "；有 $1 个标注是人挑选的：都不按层加权"],
  [/, and no draws\.json has all strata/, "，而且没有 draws.json 记录全部的层"],
  [/; not counted: /, "；未计入："],
  [/(\d+) with labels of earlier answers only/, "仅旧回答有标注的 $1 个"],
  [/, (?=\d+ (?:on which people are split|without a score))/g, "，"],
  [/(\d+) on which people are split/, "标注者意见不一的 $1 个"],
  [/(\d+) without a score/, "无分数的 $1 个"],
  [/^(\w+) is undefined: /, "$1 无法计算："],
  [/^(\w+) (\S+) has no interval: /, "$1 $2 无法计算区间："],
  [/, people among themselves (\S+?)(?=[,;)，；]|$)/, "，标注者之间 $1"],
  [/judge minus people /, "裁判减人工 "],
  [/mean by people (\S+), /, "按人工标注校正的均值 $1，"],
  [/; by the judge alone /, "；仅按裁判 "],
  [/; not sure yet: (\d+) to (\d+) labelled answers in all would decide it/, "；尚不确定：共需标注 $1 至 $2 个回答才能判定"],
  [/; not sure yet: (\d+) or more labelled answers in all would decide it/, "；尚不确定：共需标注至少 $1 个回答才能判定"],
  [/; not sure yet: (\d+) labelled answers in all would decide it/, "；尚不确定：共需标注 $1 个回答才能判定"],
  [/; not sure yet, nor would labels of all (\d+) answers decide it/, "；尚不确定，标注全部 $1 个回答也不足以判定"],
  [/; people's mean (\S+) is itself below (\S+): more labels will hardly help/, "；人工均值 $1 本身已低于 $2：增加标注也难有帮助"],
  [/; people's mean (\S+) is itself above (\S+): more labels will hardly help/, "；人工均值 $1 本身已高于 $2：增加标注也难有帮助"],
  [/; with these labels, a (?:fall|rise) below (\S+) may go unseen \(power 80 %\)/, "；以这些标注，小于 $1 的下降可能检测不到（检验效能 80%）"],
  [/; not sure yet/, "；尚不确定"],
  [/the labels give no interval/, "标注不足以计算区间"],
  [
    /(\d+) of (\d+) answers changed since labels were drawn: draw (\d+) of them with '(.+?)' \(for instance (.+?)\)/g,
    "$2 个回答中有 $1 个在抽样标注后改变：请用 $4 抽取其中 $3 个（例如 $5）",
  ],
  [
    /(\d+) of (\d+) answers differ from those of (.+?): draw both answers of (\d+) of them with '(.+?)' \(for instance (.+?)\)/g,
    "$2 个回答中有 $1 个与 $3 不同：请用 $5 抽取其中 $4 个样本的两个回答（例如 $6）",
  ],
  [/(\d+) labelled answers?, none known to be drawn at random: say '(.+?)' if they were, or draw some \(pytest --rag-label (\d+)\)/, "$1 个已标注回答，均不能确定为随机抽取：若是随机抽取，请写 $2；否则请抽取样本（pytest --rag-label $3）"],
  [/(\S+) has no labels yet: pytest --rag-label (\d+) draws samples to label/, "$1 尚无标注：可用 pytest --rag-label $2 抽取样本"],
  [/a stratum of (\d+) samples has (\d+) labelled answers?: draw more \(pytest --rag-label (\d+)\)/, "某层有 $1 个样本，只有 $2 个已标注回答：请再抽取（pytest --rag-label $3）"],
  [
    /(\d+) of the labelled answers changed \((.*?)\), and no draws\.json beside the labels says which others have: remove their labels, write 'chosen' as 'drawn' of the others of that time, and draw anew \(pytest --rag-label (\d+)\)/,
    "$1 个已标注的回答已改变（$2），标注旁没有 draws.json 说明其他回答是否改变：请删除这些标注，将同期其他标注的 drawn 改为 chosen，并重新抽样标注（pytest --rag-label $3）",
  ],
  [
    /the labels were drawn by strata, and no draws\.json beside them has their sizes \(no (.*?)\): copy the newest one of --rag-label/,
    "标注为分层抽样，但旁边的 draws.json 没有记录各层大小（缺少 $1）：请复制 --rag-label 写出的最新文件",
  ],
  [/all labels of a stratum are of one group: no interval/, "某层的标注同属一组：无法计算区间"],
  [/(\S+) has no upper end: its mean cannot be corrected/, "$1 没有上限，无法校正均值"],
  [/no sample has a score of (\S+) and an answer in both runs/, "没有样本在两次运行中都有 $1 和回答"],
  [/: a (?:fall|rise) beyond max_drop (\S+) \(mode (\w+)\): by people /, "：变差超过 max_drop $1（模式 $2）：按人工 "],
  [/: no such (?:fall|rise) shown \(mode (\w+)\): by people /, "：未发现变差（模式 $1）：按人工 "],
  [/(\S+) % interval (\S+?)\.\.(\S+?)(?=[,;)，；]|$)/g, "$1% 置信区间 $2 至 $3"],
  [/(按人工 \S+) against (.+?), (?=\S+% 置信区间)/g, "$1（对比 $2），"],
  [/, (\d+) changed answers? labelled on both sides/g, "，$1 个改变的回答在两次运行中均有标注"],
  [/, (?=(?:\d+ of )?\d+ labelled answer)/g, "，"],
  [/(\d+) of (\d+) labelled answers?/g, "$2 个已标注回答中的 $1 个"],
  [/(\d+) labelled answers?/g, "$1 个已标注回答"],
  ...STEADY_WORDS,
  [/^cannot be decided: /, "无法判定："],
  [/, max_flip allows ([\d.]+) %/g, "，max_flip 允许 $1%"],
  [/; ask more repeats or more rows/g, "；请增加重复次数或数据行"],
  // a sample of the rows: stats/wording.py, engine/verdict/decide.py
  [/estimated over all ([\d,]+) rows from ([\d,]+) asked(?: and ([^,;:)）]+))?/g, (_, rows, asked, against) => `由评测的 ${asked} 行${against ? `及 ${against} ` : ""}估计全部 ${rows} 行`],
  [/, ([\d,]+) answers changed/g, "，$1 个回答已改变"],
  [/[;；] ?of the ([\d,]+) of ([\d,]+) rows asked/g, "；仅评测了 $2 行中的 $1 行"],
  [/([\d.]+) % interval (\S+?)\.\.(\S+) of the mean ([\d.]+), (?=由评测)/g, "均值 $4 的 $1% 置信区间 $2 至 $3，"],
  // how many rows a comparison needs: reports/needed_rows.py
  [/^to exclude a (?:fall|rise) of (\S+?)(?: in (.+?))? if nothing changed \(power 80 %\): /, (_, fall, name) => `在没有变化时排除${ofMetric(name)}变差 ${fall}（检验效能 80%）：`],
  [/^to see that a (?:fall|rise) of (\S+?)(?: in (.+?))? exceeds (\S+) \(power 80 %\): /, (_, fall, name, allowed) => `检出${ofMetric(name)}变差 ${fall} 超过 ${allowed}（检验效能 80%）：`],
  [/^to see a (?:fall|rise) of (\S+?)(?: in (.+?))? \(power 80 %\): /, (_, fall, name) => `检出${ofMetric(name)}变差 ${fall}（检验效能 80%）：`],
  [/：about ([\d,]+) groups \(([\d,]+) rows\); these ([\d,]+) groups (?:see|exclude) ([\d.e-]+)/, "：约需 $1 组（$2 行）；现有 $3 组，可达 $4"],
  [/：about ([\d,]+) rows; these ([\d,]+) (?:see|exclude) ([\d.e-]+)/, "：约需 $1 行；现有 $2 行，可达 $3"],
  [/(?<=可达 [\d.e-]+): enough$/, "：足够"],
  [/only (\d+) of (\d+) rows differ/, "$2 行中只有 $1 行有差异"],
  [/only (\d+) of (\d+) scores differ from the others/, "$2 个分数中只有 $1 个与其余不同"],
  [/(：how many rows is not known \()only (\d+) (?:row|group)s?\)/, "$1仅 $2 个)"],
  [/all differences are equal/, "所有差值相同"],
  [/a single row has nearly all the weight/, "一行几乎占有全部权重"],
  [/：how many rows is not known \((.+)\)$/, "：无法得知需要多少行（$1）"],
  [/^all (\d+) values of (.+?), worst /, "$2 的 $1 个取值均通过，最差为 "],
  [/^the only value of (.+?): /, "$1 仅有的取值："],
  [/^(\d+) of (\d+) values of (.+?): /, "$3 的 $2 个取值中 $1 个未通过："],
  [/: (?=-?\d[\d.]* [<>] -?\d)/g, "："],
  [/; not in (.+?), left out: (.+?)(?: and (\d+) more)?$/, leftOutSaid],
  [/; and (\d+) more(?=；|$)/, "；另有 $1 个"],
  [/^there are no slices to look at/, "没有可供检查的分组"],
  [/none of (\d+) metrics, worst /, "$1 个指标均未变差，其中最差的 "],
  [/: no sample was scored in both runs/g, "：没有样本在两次运行中都有分数"],
  [/: (?:fell|rose) by (\S+), more than max_drop (\S+) \(mode any\), A /g, "：变差 $1，超过 max_drop $2（模式 any），A "],
  [/: better, A /g, "：变好，A "],
  [/: worse, A /g, "：变差，A "],
  [/: equal, A /g, "：相同，A "],
  [/: no difference shown, A /g, "：未发现显著差异，A "],
  [/: undecided, A /g, "：无法判定，A "],
  [/: not judged, A /g, "：不作判定，A "],
  [/, B (-?\d\S*) \((.+?)\), difference /g, "，B $1（$2），差值 "],
  [/, interval (\S+), counting one worst pair more/g, "，多计一个最差样本对的区间 $1"],
  [/, no (interval|p value), /g, "，无法计算区间或 p 值，"],
  [/, p ([<\d.]+)/g, "，p $1"],
  [/, beyond a (?:fall|rise) of (\S+) one-sided p/g, "，变差超过 $1 的单侧 p"],
  [/ \((\S+) over (\d+) metrics (\S+)\)/g, "（$1，$2 个指标：$3）"],
  [/, n (\d+) in (\d+) groups?/g, "，n = $1，共 $2 组"],
  [/, n (\d+)/g, "，n = $1"],
  [/; (\d+) rows? rules? it out/g, "；$1 行不适用该指标"],
  [/; mode (\w+), max_drop /g, "；模式 $1，max_drop "],
  [
    /; with this n, a (?:fall|rise) below (\S+) may go unseen \(power 80 %\)/g,
    "；此样本量下，小于 $1 的下降可能检测不到（检验效能 80%）",
  ],
  [/(?<=：无法判定，A [^;；]*); cannot be decided: /g, "；原因："],
  [/; cannot be decided: /g, "；无法判定："],
  [/; it fails by the pairs there are: /g, "；按现有的样本对即不通过："],
  [/too few pairs, or groups, for an interval: no fall is excluded/g, "样本对或组太少，得不出区间，无法排除变差"],
  [/(\d+) labelled answers? by two people or more, (\d+) are needed/, "由两人以上标注的回答只有 $1 个，需要 $2 个"],
  [/: no fall is excluded: /g, "：无法排除变差："],
  [/: cannot be decided: /g, "：无法判定："],
  [
    /only (\d+) of the (\d+) samples of (.+?) have a score in both runs/g,
    "$3 的 $2 个样本中只有 $1 个在两次运行中都有分数",
  ],
  [
    /only (\d+) of the (\d+) samples of (.+?) still have every score \((.+?) missing on (\d+)\)/g,
    "$3 的 $2 个样本中只有 $1 个仍有全部分数（$5 个缺少 $4）",
  ],
  [/only (\d+) of the (\d+) samples of (.+?) are in this run/g, "$3 的 $2 个样本中只有 $1 个在本次运行中"],
  [/, and min_pairs: (\S+) asks for (\d+)/g, "，而 min_pairs: $1 要求 $2 个"],
  [/(\d+) pairs? cannot reach p < ([\d.e-]+)/g, "$1 对样本无论结果如何都达不到 p < $2"],
  [/(\d+) groups? cannot reach p < ([\d.e-]+)/g, "$1 组无论结果如何都达不到 p < $2"],
  [/(\d+) resamples cannot reach p < ([\d.e-]+)/g, "$1 次重抽样达不到 p < $2"],
  [/ over (\d+) metrics, whatever the scores/g, "（$1 个指标）"],
  [/, whatever the scores/g, ""],
  [/(?<=\d 对样本无论[^;；]*); (\d+) can(?=$|[;, ])/g, "；至少需要 $1 对样本"],
  [/(?<=\d 组无论[^;；]*); (\d+) can(?=$|[;, ])/g, "；至少需要 $1 组"],
  [/(?<=\d 次重抽样达不到[^;；]*); (\d+) can(?=$|[;, ])/g, "；至少需要 $1 次"],
  [/; (\d+) can(?=$|[;, ])/g, "；至少需要 $1 个共有样本"],
  [/the differences do not vary: a t test says nothing/g, "各差值完全相同：t 检验无法判断"],
  [/the differences do not vary: a bootstrap says nothing/g, "各差值完全相同：自助法无法判断"],
  [/; no difference in any sample$/, "；所有样本均无差异"],
  [/^no difference in any sample$/, "所有样本均无差异"],
  [/no (?:sample|group) has a score on both sides/, "没有在两次运行中都有分数的样本或组"],
  [
    /only 1 (?:sample|group) has a score on both sides; a test needs 2/,
    "只有 1 个样本或组在两次运行中都有分数；检验至少需要 2 个",
  ],
  [
    /(\d+) differ: p is a normal approximation, ranks give none below ([\d.e-]+)/g,
    "$1 个样本或组有差异：p 为正态近似，秩检验的 p 不低于 $2",
  ],
  [/(\d+) resamples: p cannot fall below/g, "$1 次重抽样：p 不可能低于"],
  [/(\d+) samples? differs?: p cannot fall below/g, "$1 个样本有差异：p 不可能低于"],
  [/(\d+) groups? differs?: p cannot fall below/g, "$1 组有差异：p 不可能低于"],
  [/, (\S+) adjusted over (\d+) metrics/g, "，按 $2 个指标校正后为 $1"],
  [/(?<=次重抽样：p [^;；]*); (\d+) would be needed for ([\d.e-]+)/g, "；要达到 $2 至少需要 $1 次"],
  [/(?<=\d 组有差异：p [^;；]*); (\d+) would be needed for ([\d.e-]+)/g, "；要达到 $2 至少需要 $1 组"],
  [/; (\d+) would be needed for ([\d.e-]+)/g, "；要达到 $2 至少需要 $1 个"],
  [/ \((\d+ (?:次重抽样|组有差异|个样本(?:或组)?有差异)：p [^()]*)\)/g, "（$1）"],
  [/; to let it pass: /g, "；如需放行，可设置 "],
  [/ \(or 'min_pairs: 0', if what is left is enough\)/g, "（如果剩余样本足够，也可设置 'min_pairs: 0'）"],
  [/; /g, "；"],
  [/^not compared with '(.*)'$/, "未与 '$1' 对比"],
  [/^(\d+) of (\d+) samples ran/, "$2 个样本中只运行了 $1 个"],
  [/^the budget is spent: (\d+) of (\d+) samples not asked for/, "预算已用尽：$2 个样本中有 $1 个未评测"],
  [/, so far (-?\d[\d.]*)/, "，目前为 $1"],
  [/ \(strict: undecided fails\)/, "（严格模式：无法判定即视为未通过）"],
  [/[;；] ?(\d+) lost \(a worker crashed\?\)/, "；丢失 $1 个（可能是工作进程崩溃）"],
  [/(\S+) is missing in (\d+) of (\d+) samples/g, "$3 个样本中有 $2 个缺少 $1"],
  [/nothing was scored: all (\d+) samples are skipped or invalid, or no metric applies to them/, "没有分数：$1 个样本均被跳过、无效，或没有适用的指标"],
  [/none of (\d+) samples was scored/, "$1 个样本都没有分数"],
  [/；of the (\d+) of (\d+) samples asked/, "；仅评测了 $2 个样本中的 $1 个"],
  [/, of which the first, in random order, had decided: passed/, "，按随机顺序，先评测的部分已判定：通过"],
  [/, of which the first, in random order, had decided: failed/, "，按随机顺序，先评测的部分已判定：未通过"],
  [/(\d+) of (\d+) scored samples/g, "$2 个有分数的样本中有 $1 个"],
  [/(?:over )?(\d+) of (\d+) samples/g, "$2 个样本中有 $1 个"],
];

function leftOutSaid(_, baseline, listed, more) {
  const others = more ? `，另有 ${more} 个` : "";
  return `；${baseline} 中没有，未计入：${listed}${others}`;
}

/** Whose fall is spoken of; "" where there is only one metric. */
function ofMetric(name) {
  return name === undefined ? "" : ` ${name} `;
}

/** Names or values with the comma that Chinese puts between them. */
function inARow(listed) {
  return listed.replaceAll(", ", "、");
}

/** The English of `RunView.missing` in pytest_rageval/reports/run_view.py, and of what it is made of. */
const MISSING_WORDS = [
  ...MADE_WORDS,
  ...HOLE_WORDS,
  [/: the judge is not tested, control rows were not asked: the run ended before$/, "：裁判未经检验：运行在询问对照行之前就结束了"],
  [/: the judge is not tested, control rows were not asked: /, "：裁判未经检验，没有询问对照行："],
  [/: this judge does not tell (.+?) \(control rows: good (.+?), bad (.+?)\): do not trust (?:this figure|these figures)$/, (_, apart, good, bad) => `：此裁判${APART[apart] ?? `无法区分：${apart}`}（对照行：好的 ${good}，坏的 ${bad}）：请勿相信此数值`],
  [/: answers have (\S+) words in the mean \(of Chinese, characters\); one that says more finds more nuggets$/, "：回答平均 $1 个词（中文按字）；说得越多，含有的要点越多"],
  ...STEADY_WORDS,
  [/^(\d+) of (\d+) rows (?:is|are) invalid and in no figure$/, "$2 行中有 $1 行无效，不计入任何统计"],
  [/^(\d+) of (\d+) samples (?:is|are) skipped and in no figure$/, "$2 个样本中有 $1 个被跳过，不计入任何统计"],
  [
    /^(\d+) of (\d+) answers? (?:is|are) empty and (?:has|have) the worst score of metrics that ask a model \((.+?) leaves that to each metric\)$/,
    "$2 个回答中有 $1 个为空，在需要询问模型的指标上计为最差分（$3 可让各指标自行决定）",
  ],
  [
    /^(\d+) of (\d+) answers? (?:is|are) empty and (?:has|have) the worst score of metrics of the answer$/,
    "$2 个回答中有 $1 个为空，在评价回答的指标上计为最差分",
  ],
  [/^(\d+) of (\d+) samples (?:is|are) not answered$/, "$2 个样本中有 $1 个没有回答"],
  [/^the judge was given up: (.+) not asked on (\d+) of (\d+) samples$/, "裁判已停用：$3 个样本中有 $2 个未评测 $1"],
  [/^(.+) failed on (\d+) of (\d+) samples$/, "$3 个样本中有 $2 个的 $1 出错"],
  [/^(.+?) compared contexts on (\d+) of (\d+) samples$/, (_, names, n, of) => `${inARow(names)} 在 ${of} 个样本中的 ${n} 个上比较的是文本`],
  [/^ids are expected, and none were retrieved$/, "应按 id 比较，但没有检索到 id"],
  [/^(.+?) (?:does|do) not apply to (\d+) of (\d+) samples$/, (_, names, n, of) => `${inARow(names)} 不适用于 ${of} 个样本中的 ${n} 个`],
  [/^of (\d+) answers: (?=\d+ )/, "$1 个回答中："],
  [/(\d+) not classified by the judge/, "裁判未说明是否拒答 $1 个"],
  [/(\d+) in a language whose refusals are not known/, "所用语言的拒答用语未知 $1 个"],
  [/(\d+) in part refused, counted as answered/, "部分拒答 $1 个（计为已回答）"],
  [/(?<=个回答中：)(\d+) refused/, "拒答 $1 个"],
  [/(?<=拒答 \d+ 个(?:（计为已回答）)?|未知 \d+ 个), /g, "，"],
  [/(-?\d+\.\d{4}) without (?=\d+ of \d+ that count)/, "不计时为 $1，"],
  [/(\d+) of (\d+) that count as the worst: (.+)$/, "$2 个中有 $1 个计为最差：$3"],
  [/, (\d+) % of the top (\d+) have no judgement/, "，前 $2 个结果中有 $1% 未经判定"],
  [/, (\d+) % of all results have no judgement/, "，全部结果中有 $1% 未经判定"],
  [/^(\d+) % of the top (\d+) have no judgement/, "前 $2 个结果中有 $1% 未经判定"],
  [/^(\d+) % of all results have no judgement/, "全部结果中有 $1% 未经判定"],
  [/: between (-?\d\S*) and (-?\d\S*)$/, "：均值在 $1 与 $2 之间"],
  [/^(.+): (\d+) of (\d+) replies could not be used \((.+?) %\): .*$/, "$1：裁判的 $3 条回复中有 $2 条无法使用（$4%）"],
  [/^no controls: /, "没有对照行："],
];

/** The English of _TELLS in engine/planning/bind_controls.py: what a judge fails to tell apart. */
const APART = {
  "supported answers from invented ones": "分不清有依据的回答和编造的回答",
  "right answers from wrong ones": "分不清正确的回答和错误的回答",
  "answers that meet a criterion from others": "分不清符合要求的回答和不符合的回答",
  "answers from talk of something else": "分不清切题的回答和答非所问",
  "equal meanings from different ones": "分不清含义相同与不同",
  "passages that help from others": "分不清有用的段落和无用的段落",
  "complete passages from others": "分不清内容完整的段落和不完整的段落",
  "supported statements from others": "分不清有依据的陈述和没有依据的陈述",
  "good rows from bad ones": "分不清好的行和坏的行",
};

/** A text of Python in the language of the page, by pairs of English and Chinese. */
function saidBy(words, text) {
  if (language === "en") return text;
  return words.reduce((said, [english, chinese]) => said.replace(english, chinese), text);
}

/** What is missing in the figures, in the language of the page. */
function missingSaid(text) {
  return saidBy(MISSING_WORDS, text);
}

const LACKING =
  /^the answer lacks nuggets: (?:(\d+) that no context has \((".*?")\)(?:, |$))?(?:(\d+) that the contexts have \((".*")\))?$/s;

/** How many nuggets an answer lacks that no context has, and that the contexts have. */
function lackingSaid(_, gone, firstGone, held, firstHeld) {
  const parts = [
    gone && `${gone} 个上下文中没有（${firstGone}）`,
    held && `${held} 个上下文中有（${firstHeld}）`,
  ];
  return `回答缺少要点：${parts.filter(Boolean).join("，")}`;
}

/** The English of pytest_rageval/engine/scoring/cause.py. */
const CAUSE_WORDS = [
  [LACKING, lackingSaid],
  [/^the documents hold no answer, and the answer gives one$/, "文档中没有答案，回答却给出了一个"],
  [/^the documents hold no answer, and the answer may refuse, in a language whose refusals are not known$/, "文档中没有答案，回答可能是拒答（所用语言的拒答用语未知）"],
  [/(\d+) answer claims? (?:is|are) in no context and not in the reference(?=$|, )/, "回答的 $1 项主张在上下文和参考答案中都没有"],
  [/(^|, )(\d+) (?:reference claims? )?(?:is|are) in no context(?=$|, )/, "$1参考答案的 $2 项主张在上下文中没有"],
  [/(^|, )(\d+) (?:reference claims? )?(?:is|are) in (contexts\[.*) and not in the answer(?=$|, )/, "$1参考答案的 $2 项主张在 $3 中有，回答中却没有"],
  [/ and (\d+) more(?= 中有，)/, " 等（另有 $1 个）"],
  [/(?<=没有), (?=参考答案的 |回答的 )/g, "，"],
  [/^no claim is missing, and each is in the contexts: its score is low$/, "没有缺少的主张，且各项都在上下文中，但分数偏低"],
  [/^no claim is missing, and each is in the contexts: (.+) is low$/, "没有缺少的主张，且各项都在上下文中，但 $1 偏低"],
  [/^the contexts hold the reference(?=$|, )/, "上下文中有参考答案"],
  [/^no context holds the reference$/, "上下文中没有参考答案"],
  [/^no contexts$/, "没有上下文"],
  [/^there are no contexts$/, "没有检索到上下文"],
  [/^no references$/, "没有参考答案"],
  [/^no words to look for in (.+)$/s, "$1 中没有可查找的词"],
  [/, and there is no answer$/, "，但没有回答"],
  [/, and the answer is empty$/, "，但回答为空"],
  [/, and the answer refuses$/, "，但回答是拒答"],
  [/, and the answer missed it$/, "，回答却没有用上"],
  [/, and so does the answer: (.+) is low$/, "，回答中也有，但 $1 偏低"],
  [/, but not what the answer says: (.+)$/s, (_, words) => `，但没有回答所说的：${inARow(words)}`],
  [/, and (?=\S+ -?\d)/, "，且 "],
];

/** Why an answer has its cause, in the language of the page; null where only English has words. */
function causeSaid(text) {
  const said = saidBy(CAUSE_WORDS, text);
  return said === text && language !== "en" ? null : said;
}

/** What the run said, in the language of the page; unknown texts stay as they are. */
function runSaid(text) {
  return saidBy(RUN_WORDS, text);
}

/** A gate's message with its sign in words: `0.6100 < 0.7000` is "0.6100 is below 0.7000". */
function readOut(message) {
  return message.replace(/(-?\d{1,20}\.\d{4,12}) ([<>]) (-?\d{1,20}\.\d{4,12})/g, (_, value, sign, bound) =>
    say(sign === "<" ? "is_below" : "is_above", { value, bound }),
  );
}
