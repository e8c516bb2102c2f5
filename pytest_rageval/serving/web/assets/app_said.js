// Chinese for what the server said: of saved runs, of settings, of data files; and what it refused.

/** What the server said, in the language of the page. */
function serverSaid(text) {
  return text.split("\n").map(runSaid).join("\n");
}

// The remarks of pytest_rageval/serving/saved_runs.py, before those of a run: they say more.
RUN_WORDS.unshift(
  [/^the weights of metrics differ; both runs are weighed as A: /, "指标权重不同；两次运行都按 A 的权重计算："],
  [/^weighted_score is not compared: B has not all metrics that it follows from$/, "weighted_score 未对比：B 缺少计算它所需的指标"],
  [/^([AB]) is partial: (\d+) of (\d+) samples ran$/, "$1 是部分运行：$3 个样本中只运行了 $2 个"],
  [/^(\d+) samples? only in ([AB]): /, "只在 $2 中的样本 $1 个："],
  [/^metrics only in ([AB]): /, "只在 $1 中的指标："],
  [/^(\d+) of (\d+) shared samples have another question: /, "$2 个共有样本中 $1 个的问题不同："],
  [/^(\d+) of (\d+) shared samples have other references: /, "$2 个共有样本中 $1 个的参考答案不同："],
  [
    /^(\d+) of (\d+) shared samples have other expected ids, contexts, groups of references, nuggets, checks or labels: /,
    "$2 个共有样本中 $1 个的期望 id、上下文、参考答案组、要点、检查项或标注不同：",
  ],
  [
    /^(\d+) of (\d+) shared samples have another weight; they weigh as in A: /,
    "$2 个共有样本中 $1 个的权重不同，按 A 计算：",
  ],
  [/^the runs are of two scenarios$/, "两次运行属于不同的场景"],
  [/^the data differ$/, "数据不同"],
  [/^the runs were judged by different qrels$/, "两次运行使用了不同的 qrels"],
  [/^(.+) is not compared: it was (.+), is (.+)$/, "$1 未对比：定义不同（原为 $2，现为 $3）"],
  [/^(\S+) is undecided: /, "$1 无法判定："],
  [/^A is older than B$/, "A 早于 B"],
  [/^the code of (.+) has changed$/, "$1 的代码已改变"],
  [/an earlier version did not save the ranges of its metrics; run it again/, "由较早的版本保存，没有记录指标的范围；请重新运行"],
  [/原为 not described，/, "原为无说明，"],
  [/from (\S+) to (\S+) \((higher|lower) is better\)/g, (_, low, high, way) => `${low} 至 ${high}，越${way === "higher" ? "高" : "低"}越好`],
  [/^no run has decided it: run all variants together$/, "还没有运行判定过它：请一起运行所有变体"],
  [/^run '(latest|previous)': left out: (.+): results\.json is cut off, or of another version; delete such a folder, or move it away; a run that can be read is named by its id$/, "运行 $1 未计入 $2：results.json 不完整，或属于其他版本；请删除或移走该文件夹；能读取的运行可用 id 指定"],
  [/^left out: (.+): results\.json is cut off, or of another version; delete such a folder, or move it away$/, "未计入：$1：results.json 不完整，或属于其他版本；请删除或移走该文件夹"],
  // what the app refuses: serving/web/*.py
  [/^the key is missing: open the URL that pytest has printed$/, "缺少密钥：请打开 pytest 输出的网址"],
  [/^a run is going on: wait for it, or stop it$/, "有运行正在进行：请等待或停止它"],
  [/^no such scenario; it may have been moved: load the page again$/, "没有这个场景，可能已被移动：请重新加载页面"],
  [/^no such run; runs of an earlier server are in the history$/, "没有这次运行；先前服务器的运行见历史"],
  [/^no such run of (.+): it may have been deleted$/, "$1 没有这次运行，可能已被删除"],
  [/^nothing to stop: the run has ended$/, "没有可停止的运行：它已结束"],
  [/^the app has been ended$/, "应用已被结束"],
  [/^no such page$/, "没有这个页面"],
  [/^there is no scenario to run$/, "没有可运行的场景"],
  [/^(.+) has changed since the page was loaded; load it anew$/, "$1 在页面加载后已被修改"],
  [/^the scenario's file cannot be read: /, "无法读取场景文件："],
  [/written in variants \((.+)\), where it would stay as it is: change it there, in the file$/, "已写在变体（$1）中，那里不会改变：请在文件中修改"],
  [/^expected a body of at most (\d+) bytes$/, "内容过大：最多 $1 字节"],
  [/^the body has not come within (\S+) s$/, "$1 秒内未收到完整内容"],
  [/^no such data file: choose one of the list, or upload it$/, "没有这个数据文件：请从列表中选择或上传"],
  [/^(.+): expected a file of a known format: (.+)$/, "$1：需要已知格式的文件：$2"],
  [/^the file is empty$/, "文件为空"],
  [/^there are too many files of the name (.+)$/, "名为 $1 的文件过多"],
  [/^(.+) cannot be made: /, "无法创建 $1："],
  [/^the scenario cannot be written: /, "无法写入场景："],
  [/a name with a null character cannot be given to a run/, "名称中有空字符，无法用于运行"],
  [/(\d+) of (\d+) rows cannot be read so: /, "$2 行中有 $1 行无法这样读取："],
  [/^(.+) says what a search should find, and no column what it found\. Add a column ('.+?') or ('.+?'), or the right answers as ('.+?')/, "$1 是应检索到的内容，但没有哪一列是检索到的内容。请增加 $2 或 $3 列，或以 $4 列写出正确答案"],
  [/^the data have what is measured, no system is asked: set no target$/, "数据中已有要评测的内容，不会询问系统：请勿设置 target"],
  [/^the file cannot be (written|read): /, (_, done) => `文件无法${done === "read" ? "读取" : "写入"}：`],
  [/^the file could not be read within (\S+) s$/, "$1 秒内未能读完文件"],
  [/^this is no data, but a scenario: put it into the project yourself$/, "这不是数据而是场景：请自行放入项目"],
  [/^(\S+) is a link to elsewhere: move it away$/, "$1 是指向别处的链接：请将其移走"],
  [/^a scenario (.+) is there already: give this one another name$/, "已有场景 $1：请另取名称"],
  [/^(.+) is there already: give the scenario another name$/, "$1 已存在：请为场景另取名称"],
  [/^the data have changed since they were shown: look at them again$/, "数据在显示之后已改变：请重新查看"],
  [/^name: expected a line of at most (\d+) characters$/, "名称：一行，最多 $1 个字符"],
  // what the loader says of bounds: scenario/, gates/, engine/planning/
  [/\bmin (\S+) is outside the range ([^;\s]+?)\.\.(\S+)/, "下限 $1 超出范围 $2 至 $3"],
  [/\bmax (\S+) is outside the range ([^;\s]+?)\.\.(\S+)/, "上限 $1 超出范围 $2 至 $3"],
  [/\bmin (\S+) is above max (\S+): nothing could pass/, "下限 $1 高于上限 $2：没有什么能通过"],
  [/expected a number from (\S+) to (\S+), found (.+)$/, "需要 $1 到 $2 之间的数，实为 $3"],
  [/expected a number of at least 0, found (.+)$/, "需要不小于 0 的数，实为 $1"],
  [/expected a number, found (.+)$/, "需要一个数，实为 $1"],
  [/all weights are 0; at least one metric must count/, "权重全部为 0：至少有一个指标须计入"],
  [/^(?:(.+?): )?metric_weights names some metrics only; 1\.0 is assumed for (.+)$/, weightsAssumed],
  [/needs 'thresholds': without any, no score is too low$/, "需要先设置阈值：没有阈值，就没有过低的分数"],
  [/^pytest ended with exit status (-?\d+):?$/, "pytest 以退出码 $1 结束"],
  // bytes that are not in the encoding: datasets/base.py
  [/^(.+?)(?::(\d+))?: (no row can be read: )?not (\S+): byte (0x\w\w) at offset (\d+)/, notInEncoding],
  [/ \(the line reads (as .+): set dataset\.encoding: (\S+) if that is right\)/, (_, read, name) => `（该行${readAs(read)}。如无误，请设置 dataset.encoding: ${name}）`],
  [/ \(the line reads (as .+), which (?:both look|looks) wrong: set dataset\.encoding to that of the file\)/, (_, read) => `（该行${readAs(read)}，看来均不正确。请将 dataset.encoding 设为文件的编码）`],
  [/ \(it can be read as (\S+): set dataset\.encoding: \S+\)/, "（可按 $1 读取：请设置 dataset.encoding: $1）"],
  [/ \(set dataset\.encoding, or save the file as UTF-8\)/, "（请设置 dataset.encoding，或将文件另存为 UTF-8）"],
  [/^Read as (\S+)$/, "按 $1 读取"],
  // columns and what is open: datasets/proposer/, first_scenario/
  [/; to take it nevertheless: /, "；如仍要采用："],
  [/; to take it nevertheless$/, "；如仍要采用"],
  [/^the data seem to have no answers\. If (.+) is what your system said, add /, "数据中似乎没有回答。如果 $1 是系统的回答，请加上 "],
  [/^these traces have answers, but neither what a search found nor what is right: export the spans of the search, too$/, "这些追踪有回答，但既没有检索到的内容，也没有正确答案：请把检索的 span 也导出"],
  [/^each question is there for several values of ('.+?') \((.+?)\): a mean is of all; judge each by (gates: .+), or one by (--rag-where .+)$/, "每个问题都有 $1 的多个取值（$2）：均值是全部的；可用 $3 分别评判，或用 $4 只评判其一"],
  [/^('.+?') in ('.+?') may divide several right answers; if so, add /, "$2 中的 $1 可能分隔多个正确答案；若是，请加上 "],
  [/^('.+?') holds lists of lists: an answer needs a text of each; if all are alternatives, add /, "$1 是列表的列表：回答须含有每个列表中的一段文本；如果它们可以互相替代，请加上 "],
  [/^these look like judgements of documents, which judge what a search found\. Write, in a scenario, (dataset: \{qrels_path: .+, run_path: YOUR_RUN\}) and (metrics: .+)$/, "这些看起来是对文档的判定，用来评判检索结果。请在场景中写 $1 和 $2"],
  [/^each row is a message of a conversation; a row needs a question and its answer/, "每行是对话中的一条消息；一行需要一个问题和它的回答"],
  [/\. Read the log of inspect_ai: (inspect log dump FILE > log\.json)$/, "。请读取 inspect_ai 的日志：$1"],
  [/('[^']+') seems to hold several ids in a cell: divide them by ';', or write a list, /, "$1 的一个单元格似乎含有多个 id：请改用 ';' 分隔，或写成列表 "],
  [/('[^']+') is not read, as a cell may be one text or several: write lists, (\[.+?\]), and one text as /, "$1 未读取，因为一个单元格可能是一段或多段文本：请写成列表 $2，只有一段时写 "],
  [/^('.+?') may be what another system said, or gold/, "$1 可能是另一个系统的回答，也可能是标准答案"],
  [/^('.+?') may be what a system said, or more gold/, "$1 可能是系统的回答，也可能是更多标准答案"],
  [/^('.+?') may be the right answer, or what a system said: nothing in the file tells$/, "$1 可能是参考答案，也可能是系统的回答：文件中没有说明"],
  [/^('.+?') may be the right answer, or the passage that it is in(?: \(there is a column with its page\))?$/, "$1 可能是参考答案，也可能是它所在的段落"],
  [/^('.+?') is blank in (\d+) of (\d+) rows: ('.+?') may be the right answer, or what a system said$/, "$3 行中有 $2 行的 $1 为空：$4 可能是参考答案，也可能是系统的回答"],
  [/^('.+?') is 0 in (\d+) of (\d+) rows: their ('.+?') may be a wrong answer, and these rows are to be taken out$/, "$3 行中有 $2 行的 $1 为 0：这些行的 $4 可能是错误的回答，应当去掉"],
  [/^('.+?') is right in all rows$/, "$1 在所有行中都正确"],
  [/^('.+?') is a passage, and ('.+?') the right answer$/, "$1 是段落，$2 是参考答案"],
  [/^('.+?') is what a system said$/, "$1 是系统的回答"],
  [/^it is the right answer$/, "它是参考答案"],
  [/^it is the passage to find$/, "它是应检索到的段落"],
  [/^a system said it$/, "它是系统的回答"],
  [/^('.+') are parts of a list: write it into one column$/, "$1 是一个列表的各部分：请写入一列"],
  [/^('.+?') repeats (.+): a label, no text to compare/, "$1 反复出现 $2：是标签，不是可对比的文本"],
  [/^('.+?') says yes and no, or 1 and 0, beside texts in ('.+?')(?=；|$)/, "$1 是“是/否”或 1/0，而 $2 是文本"],
  [/^('.+?') is filled in (\d+) of (\d+) rows only, and rows without it would be skipped/, "$3 行中只有 $2 行填写了 $1，没有填写的行会被跳过"],
  [/^('.+?') holds wrong passages, too \(see ('.+?')\)/, "$1 中也有错误的段落（见 $2）"],
  [/^no id in ('.+?') is ever found in ('.+?')(?=；|$)/, "$1 中的 id 从未出现在 $2 中"],
  [/^no id in ('.+?') is ever found in ('.+?'): remove recall@5, mrr and its gate, or make the ids alike$/, "$1 中的 id 从未出现在 $2 中：请去掉 recall@5、mrr 及其门禁，或统一两者的 id"],
  [/^('.+?') is no person's message in row (\d+)(?=；|$)/, "第 $2 行的 $1 不是用户的消息"],
  [/^more right answers, by its name$/, "更多正确答案，依列名"],
  [/^different where it is filled$/, "凡填写处都不同"],
  [/^the documents to find: it repeats for different questions$/, "应检索到的文档：不同的问题有相同的值"],
  [/^its own name$/, "列名即字段名"],
  [/^by its name$/, "依列名"],
  [/^by its name, beside '(.+)'$/, "依列名，且有“$1”列"],
  [/^as you said$/, "按您所选"],
  [/^the gold, beside the system's '(.+)'$/, "参考答案，且有系统回答列“$1”"],
  [/^the gold, by the name of the file$/, "参考答案，依文件名"],
  [/^the gold: lists of right answers$/, "参考答案：多个正确答案的列表"],
  [/^the gold: it is alone, and short$/, "参考答案：独此一列，且较短"],
  [/^beside answers$/, "与回答并列"],
  [/^of the first variant$/, "第一个变体的"],
  [/^to be found: the data have no answers$/, "应检索到的：数据中没有回答"],
  [/^(texts|lists|numbers|yes or no) in (.+), (\d+) different$/, (_, kind, where, n) => `${rowsWords(where)}${CELL_KINDS[kind]}，${n} 个不同值`],
  [/^(.+) may (?:both|all) be (.+)$/, (_, names, what) => `${names.replaceAll(" and ", "、")} 都可能是${meantWords(what)}`],
  [/^('.+') is what your system said$/, "$1 是系统的回答"],
  [/^('.+') is the right answer, and no system said it$/, "$1 是参考答案，而非系统的回答"],
  [/^('.+') is the right answer$/, "$1 是参考答案"],
  [/^('.+') is the question$/, "$1 是问题"],
  [/^('.+') is the document to find$/, "$1 是应检索到的文档"],
  [/^an answer has to hold each of the texts in ('.+')$/, "回答必须包含 $1 中的每段文本"],
  [/^an answer has to hold none of the texts in ('.+')$/, "回答不得包含 $1 中的任何文本"],
  [/^To compare the systems side by side, as variants$/, "作为变体并排比较这些系统"],
  [/^they are the (\d+) rows? there: (.+)$/, "各行位于 $2（$1 行）"],
  [/^the rows may be in several places$/, "各行可能位于多处"],
  [/^no column looks like questions$/, "没有看起来像问题的列"],
  [/^no gold: no column says what is right, so nothing can be measured/, "没有标准答案：没有哪一列说明什么是正确的，因此无法评测"],
  [/^the first line looks like data: (.+)\. Put a line above it that names the columns, for instance question,answer$/, "第一行看起来是数据：$1。请在其上方加一行列名，例如 question,answer"],
);

const CELL_KINDS = { texts: "文本", lists: "列表", numbers: "数字", "yes or no": "是/否" };
const MEANT = {
  "the question": "问题",
  "the right answer": "参考答案",
  "what a system said": "系统的回答",
};

function meantWords(what) {
  return MEANT[what] ?? what;
}

function rowsWords(where) {
  return where.replace(/^all rows$/, "全部行均为").replace(/^(\d+) of (\d+) rows$/, "$2 行中的 $1 行为");
}


/** `as gb18030 '…', as cp1252 '…'`: how a line reads in other encodings. */
function readAs(read) {
  return read.replace(/(^|, )as (\S+) (?=['"])/g, (_, comma, name) => `${comma ? "，" : ""}按 ${name} 读作 `);
}

function notInEncoding(_, file, line, isRow, name, byte, at) {
  const where = line ? `${file} 第 ${line} 行` : file;
  return `${where}：${isRow ? "没有可读取的行：" : ""}不是 ${name} 编码：偏移 ${at} 处的字节为 ${byte}`;
}

function weightsAssumed(_, file, names) {
  const said = `metric_weights 只写出了部分指标；${inARow(names)} 的权重按 1.0 计`;
  return file ? `${file}：${said}` : said;
}

/** Names in a row, with the comma of the language. */
function inAList(names) {
  return names.join(say("list_comma"));
}
