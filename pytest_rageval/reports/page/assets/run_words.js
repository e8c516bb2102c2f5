// Chinese for what the run said about gates and comparisons that the page cannot recompute.

/** The English of pytest_rageval/gates, engine/verdict/decide.py and stats/paired*.py; `$1` are figures. */
const RUN_WORDS = [
  [/^all (\d+) values of (.+?), worst /, "$2 的 $1 个取值均通过，最差为 "],
  [/^(\d+) of (\d+) values of (.+?): /, "$3 的 $2 个取值中 $1 个未通过："],
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
  [/, interval with two pseudo pairs /g, "，加入两个伪样本对的区间 "],
  [/, no (interval|p value), /g, "，无法计算区间或 p 值，"],
  [/, p ([<\d.]+)/g, "，p $1"],
  [/, beyond a (?:fall|rise) of (\S+) one-sided p/g, "，变差超过 $1 的单侧 p"],
  [/ \((\S+) over (\d+) metrics (\S+)\)/g, "（$1，$2 个指标：$3）"],
  [/, n (\d+) in (\d+) groups?/g, "，n = $1，共 $2 组"],
  [/, n (\d+)/g, "，n = $1"],
  [/; mode (\w+), max_drop /g, "；模式 $1，max_drop "],
  [
    /; with this n, a (?:fall|rise) below (\S+) may go unseen \(power 80 %\)/g,
    "；此样本量下，小于 $1 的变差可能检不出（检验效能 80%）",
  ],
  [/; cannot be decided: /g, "；无法判定："],
  [
    /only (\d+) of the (\d+) samples of (.+?) have a score in both runs/g,
    "$3 的 $2 个样本中只有 $1 个在两次运行中都有分数",
  ],
  [/only (\d+) of the (\d+) samples of (.+?) are in this run/g, "$3 的 $2 个样本中只有 $1 个在本次运行中"],
  [/, and min_pairs: (\S+) asks for (\d+)/g, "，而 min_pairs: $1 要求 $2 个"],
  [/(\d+) pairs? cannot reach p < ([\d.e-]+)/g, "$1 对样本无论结果如何都达不到 p < $2"],
  [/(\d+) groups? cannot reach p < ([\d.e-]+)/g, "$1 组无论结果如何都达不到 p < $2"],
  [/(\d+) resamples cannot reach p < ([\d.e-]+)/g, "$1 次重抽样达不到 p < $2"],
  [/ over (\d+) metrics, whatever the scores/g, "（$1 个指标）"],
  [/, whatever the scores/g, ""],
  [/; (\d+) can(?=$|[;, ])/g, "；至少需要 $1"],
  [/the differences do not vary: a t test says nothing/g, "各差值完全相同：t 检验无法判断"],
  [/the differences do not vary: a bootstrap says nothing/g, "各差值完全相同：自助法无法判断"],
  [/^no difference in any sample$/, "所有样本均无差异"],
  [/no (?:sample|group) has a score on both sides/, "没有在两次运行中都有分数的样本或组"],
  [
    /only 1 (?:sample|group) has a score on both sides; a test needs 2/,
    "只有 1 个样本或组在两次运行中都有分数；检验至少需要 2 个",
  ],
  [
    /(\d+) differ: p is a normal approximation, ranks give none below (\S+)/,
    "$1 个样本或组有差异：p 为正态近似，秩检验的 p 不低于 $2",
  ],
  [/(\d+) resamples: p cannot fall below/, "$1 次重抽样：p 不可能低于"],
  [/(\d+) (?:samples?|groups?) differs?: p cannot fall below/, "$1 个样本或组有差异：p 不可能低于"],
  [/, (\S+) adjusted over (\d+) metrics/, "，按 $2 个指标校正后为 $1"],
  [/; (\d+) would be needed for (\S+)/, "；要达到 $2 至少需要 $1"],
  [/; to let it pass: /g, "；如需放行，可设置 "],
  [/ \(or 'min_pairs: 0', if what is left is enough\)/g, "（如果剩余样本足够，也可设置 'min_pairs: 0'）"],
  [/; /g, "；"],
  [/^not compared with '(.*)'$/, "未与 '$1' 对比"],
  [/^(\d+) of (\d+) samples ran/, "$2 个样本中只运行了 $1 个"],
  [/^the budget is spent: (\d+) of (\d+) samples not asked for/, "预算已用尽：$2 个样本中有 $1 个未评测"],
  [/, so far (-?\d[\d.]*)/, "，目前为 $1"],
  [/ \(strict: undecided fails\)/, "（严格模式：未判定即视为未通过）"],
  [/[;；] ?(\d+) lost \(a worker crashed\?\)/, "；丢失 $1 个（可能是工作进程崩溃）"],
  [/(\S+) is missing in (\d+) of (\d+) samples/g, "$3 个样本中有 $2 个缺少 $1"],
  [/nothing was scored: all (\d+) samples are skipped or invalid/, "没有分数：$1 个样本均被跳过或无效"],
  [/none of (\d+) samples was scored/, "$1 个样本都没有分数"],
  [/(\d+) of (\d+) scored samples/g, "$2 个有分数的样本中有 $1 个"],
  [/(?:over )?(\d+) of (\d+) samples/g, "$2 个样本中有 $1 个"],
];

/** What the run said, in the language of the page; unknown texts stay as they are. */
function runSaid(text) {
  if (language === "en") return text;
  return RUN_WORDS.reduce((said, [english, chinese]) => said.replace(english, chinese), text);
}
