"""The phrases by which an answer refuses, in English and Chinese, and those beside them.

They are written for sentences and clauses without markup, citations and quotations.
"""

from __future__ import annotations

import re
from typing import Final

_DOC: Final = (
    r"(?:documents?|documentation|docs|passages?|contexts?|texts?|sources?|materials|excerpts?"
    r"|articles?|snippets?|results?|handbook|manual|guide|faq|knowledge base|files?|pages?"
    r"|chapters?|sections?|paragraphs?|book|transcript|information|content|references?|records?"
    r"|database|data ?sheet|leaflet|brochure|notes?|extracts?|materials|corpus|entries|entry"
    r"|website|catalogue?|wiki|archive|dossier|papers?|minutes|abstract|biography"
    r"|tables?|charts?|facts?heet|spec sheet|wording|provisions|sheets|listing|label)"
)
_RULES: Final = (
    r"(?:polic(?:y|ies)|contract|agreement|report|act|law|stud(?:y|ies)|warranty|terms|statute"
    r"|regulations?|circular|memo|memorandum|lease|filing|prospectus|statement|bulletin|release)"
)
_NOT: Final = r"(?:do not|does not|did not|don't|doesn't|didn't|never|fails? to|neither)"
_TELL: Final = (
    r"(?:say|state|mention|specify|indicate|address|answer|explain|describe|detail|tell|reveal"
    r"|disclose|clarify|elaborate|discuss|refer|identify|note|touch|speak|go into|spell out"
    r"|comment)"
)
_HOLD: Final = (
    rf"(?:{_TELL}|contain|provide|include|give|cover|list|have|offer|show|report|name|support|reach"
    r"|hold|supply|present|appear|record|deal|settle|make clear|allow|define)"
)
_FIND: Final = (
    r"(?:know|find|answer|tell|say|determine|see|locate|confirm|verify|identify|ascertain"
    r"|establish|conclude|infer|comment|speak to|give you|provide|offer|help (?:with|you with)"
    r"|respond|state|specify|address|be (?:sure|certain|of help|specific|definitive)"
    r"|(?:currently )?access|have|derive|deduce|work out|make out|pinpoint|point to|speculate"
    r"|look (?:it|that|this) up|calculate|estimate|draw)"
)
_WHAT: Final = (
    r"(?:information|info|details?|answers?|mention|records?|knowledge|documentation|idea"
    r"|access|guidance|material|references?|word)"
)
_ADVERB: Final = (
    r"(?:\s+(?:currently|actually|really|explicitly|specifically|directly|clearly|yet|simply"
    r"|reliably|definitively|itself|themselves|anywhere|even|fully|further|also|unfortunately"
    r"|honestly|at present|in fact|quite|precisely|exactly|otherwise))?"
)
_OF_DOC: Final = (
    rf"(?:in|by|within|from|under|anywhere in|among)\s+(?:\w+\s+){{0,4}}?(?:{_DOC}|{_RULES}|"
    r"what (?:i|we|you|was)|here\b|them\b|it\b|either\b|any\b)|there\b|here\b"
)
# What follows a document, a rule, or a word for either, in a sentence that says: it is not there.
_DOES_NOT_HOLD: Final = (
    rf"(?:[^.;:]{{0,60}}?)\b{_NOT}{_ADVERB}\s+{_HOLD}\b(?!\s+to\s+(?:pay|be|do|wait))"
)
_DOES_NOT_TELL: Final = rf"(?:[^.;:,]{{0,40}}?)\b{_NOT}{_ADVERB}\s+{_TELL}\b"
_GIVES_NO: Final = (
    r"[^.;:,]{0,40}\b(?:gives?|provides?|contains?|offers?|includes?|reports?|states?|supplies"
    r"|names?|lists?)\s+no\b"
)
_ENDS: Final = r"[^.;:,]{0,30}\bends? before\b"
_IS_SILENT: Final = r"(?:[^.;:,]{0,60}?)\b(?:is|are|was|were|remains?|stays?)\s+(?:\w+\s+)?silent\b"
_SAYS_NOTHING: Final = (
    r"(?:[^.;:,]{0,60}?)\b(?:says?|said|tells? (?:us|you|me)|states?|mentions?|contains?|offers?"
    r"|has|have|includes?|provides?|reveals?)\s+nothing\b(?!\s+but)"
)
_HAS_NO: Final = (
    r"(?:[^.;:,]{0,60}?)\b(?:contains?|ha(?:s|ve|d)|provides?|gives?|offers?|includes?|makes?|holds?"
    rf"|found|finds?|sees?|see|with)\s+no\s+(?:\w+\s+){{0,3}}?{_WHAT}\b"
)
_LACKS: Final = r"[^.;:,]{0,40}\black(?:s|ed|ing)?\b"
_ANY_RULE: Final = f"{_IS_SILENT}|{_SAYS_NOTHING}|{_HAS_NO}|{_LACKS}"
_EN: Final = (
    # The documents do not say. Each word for a document stands once here: a search tries all of
    # them at each word of a sentence.
    (
        rf"\b(?:{_DOC}\b(?:{_DOES_NOT_HOLD}|{_GIVES_NO}|{_ENDS}|{_ANY_RULE})"
        rf"|{_RULES}\b(?:{_DOES_NOT_TELL}|{_ANY_RULE})"
        rf"|(?:it|they)\b(?:{_IS_SILENT}|{_SAYS_NOTHING}|{_HAS_NO})"
        rf"|and\b(?:{_IS_SILENT}|{_SAYS_NOTHING})"
        rf"|(?:them|which)\b{_IS_SILENT}|(?:i|we)\b{_HAS_NO})"
    ),
    (
        rf"\b(?:it|they|that|these|this|nothing|neither)\b\s+(?:\w+\s+)?{_NOT}{_ADVERB}\s+"
        rf"{_TELL}\b"
    ),
    r"\b(?:is|are|was|were) silent (?:on|about|as to|regarding)\b",
    r"\bmakes? no (?:mention|reference|provision)\b|\bnowhere to be found\b",
    r"\b(?:does|do|did)(?:n't| not) (?:appear|come up|figure|feature) (?:in|among|anywhere|on)\b",
    rf"^no\b[^.;:]{{0,60}}\b(?:appears?|figures?|exists?|comes up)\b[^.;:]{{0,20}}\b{_DOC}\b",
    (
        r"^no [^.;:]{0,40}\b(?:is|are|was|were) (?:reported|given|stated|mentioned|listed|provided|"
        r"specified|named|included|recorded)\b"
    ),
    rf"\bneither\b[^.;:]{{0,80}}\bnor\b[^.;:]{{0,40}}\b{_HOLD}(?:s|es)?\b",
    r"\bthere(?:'s| is| are) no\b[^.;:]{0,40}\b(?:among|in) (?:them|these|those|it)\b",
    rf"\b(?:is|are|was|were)(?:n't| not) (?:part of|among|within)\s+(?:\w+ ){{0,4}}?(?:{_DOC})\b",
    r"\bout of (?:my )?reach\b|\bcame up empty\b|\bwould be (?:a guess|guesswork|speculation)\b",
    r"\bleft blank\b|\b(?:field|entry|cell|column|line|box)s? (?:is |are )?(?:left )?blank\b",
    r"\bgoes (?:unnamed|unmentioned|unstated|unreported|unspecified)\b",
    r"\bi(?:'ve)? only (?:have|got)\b[^.;:]{0,80}\b(?:on hand|to hand|available)\b",
    (
        rf"\b(?:none|neither) of\b(?:[^.;:,]{{0,50}}?)\b{_DOC}\b(?:[^.;:,]{{0,40}}?)\b"
        rf"{_HOLD}(?:s|es|d|ed)?\b"
    ),
    (
        r"\bnothing (?:in|within|from)\b(?:[^.;:]{0,60}?)\b(?:says?|mentions?|indicates?|states?|"
        r"about|tells?|answers?|addresses|suggests?|explains?|speaks?|covers?|specif"
        r"|describes?|shows?"
        r"|gives?|"
        r"provides?|contains?|lists?|reports?|names?)|\bnothing here\b"
    ),
    # It is not mentioned.
    (
        r"\b(?:is|are|was|were|been|'s|being)\s*(?:n't|not|never|nowhere)"
        rf"{_ADVERB}\s+(?:mentioned|specified|stated|addressed|discussed|indicated|documented|"
        r"spelled out|made clear|touched (?:on|upon)|dealt with|identified)\b"
    ),
    (
        r"\b(?:has|have)(?:n't| not) been (?:mentioned|specified|stated|disclosed|published"
        r"|recorded|"
        rf"(?:included|given|provided|reported|listed)\s+(?:{_OF_DOC}))"
    ),
    (
        r"\b(?:is|are|was|were|been|'s)\s*(?:n't|not|never|nowhere|not to be)"
        rf"{_ADVERB}\s+(?:covered|provided|given|available|included|described|listed|disclosed|"
        rf"detailed|found|answered|recorded|contained|present|part of|explained|defined)\s*"
        rf"(?:{_OF_DOC}|$|to me\b|for this\b)"
    ),
    r"\bnowhere\b[^.;:]{0,40}\b(?:mentioned|stated|specified|say|says|mention|mentions|does|do)\b",
    (
        rf"\b(?:is|are|was|were|remains?|'s)\s+(?:left\s+)?(?:unclear|unspecified|not clear"
        rf"|undefined|"
        rf"unstated|unanswered|uncertain|unmentioned)\b(?:\s+{_OF_DOC}|$|\s+(?:whether"
        rf"|what|who|when|"
        r"how|which|if|why)\b)"
    ),
    # I cannot tell.
    (
        r"\b(?:i|we)\s*(?:do not|don't|cannot|can not|can't|could not|couldn't|did not|didn't|"
        r"(?:am|'m|are|'re|was|were|have been)\s+(?:unable|not able|in no position"
        r"|not in a position)"
        r"\s+to|(?:was|were)n't able to|have not been able to|haven't been able to|won't be able to"
        r"|will not be able to|"
        r"wouldn't be able to|would not be able to|have yet to|am at a loss to)"
        rf"{_ADVERB}\s+{_FIND}\b(?!\s+(?:to|any (?:fee|charge)))"
    ),
    (
        r"^(?:sorry,? |unfortunately,? |apologies,? )?(?:unable|not able) to "
        rf"{_FIND}\b"
    ),
    (
        r"^(?:sorry,? )?(?:cannot|can't|couldn't|could not|don't|do not) "
        r"(?:find|answer|tell|say|determine|confirm|locate|know)\b"
    ),
    (
        r"\b(?:i|we)(?:'m| am|'re| are)\s+(?:not (?:sure|certain|aware of|familiar with"
        r"|privy)|unsure|"
        r"uncertain|unaware of)\b"
    ),
    (
        r"\b(?:i|we)\s+(?:currently\s+)?(?:have|see|had|find|found)\s+(?:no|not enough"
        r"|insufficient|"
        r"too little|nothing)\b"
    ),
    r"\b(?:i|we)(?:'d| would) need\b[^.;:]{0,60}\b(?:to|before)\b",
    r"\b(?:i|we) lack\b",
    r"\b(?:i'm|i am) (?:drawing a blank|stumped)\b|\b(?:your|anyone's|anybody's) guess\b",
    (
        r"\bno (?:way (?:of|to)|means of|basis (?:to|for|on)) (?:\w+ )?"
        r"(?:know|tell|answer|say|determin|which)"
    ),
    # There is no information.
    (
        rf"^(?:[^.;:]{{0,60}}?\b)?"
        rf"(?:there(?:'s| is| was| are| were| seems to be| appears to be)\s+)"
        rf"(?:currently\s+)?(?:no|not any|nothing|isn't any|insufficient)\s+(?:\w+\s+){{0,3}}?"
        rf"(?:{_WHAT}|{_DOC})\b(?! (?:desk|point|centre|center|booth|charge|counter|office))"
    ),
    (
        rf"\bthere (?:isn't|is not|wasn't|aren't) (?:any(?:thing)?|enough|sufficient)\s*"
        rf"(?:(?:\w+\s+){{0,3}}?(?:{_WHAT}|{_DOC}|context)|in\b|about\b|on\b|here\b)"
    ),
    (
        r"^(?:sorry,? |unfortunately,? )?no (?:\w+ ){0,2}?(?:information|info|details?|mention|"
        r"records?|answers?|documents?|passages?|results?|relevant \w+|data|match(?:es|ing)?)\b"
        r"(?:$|[^.;:]{0,80}\b(?:available|found|provided|given|is|was|are|were|about|on|regarding|"
        r"of|exists?|could|can|in|mentions?|answers?|addresses|that)\b)"
    ),
    (
        r"\b(?:not|n't) (?:have |contain |provide |give |offer |find |be |get )?(?:me |us )?"
        r"(?:enough|sufficient|adequate)\s+(?:\w+\s+){0,2}?"
        r"(?:information|details?|context|data|to (?:answer|go on|determine|say|tell))\b"
    ),
    (
        r"\b(?:insufficient|inadequate|too little|not enough)\s+(?:\w+\s+){0,2}?"
        r"(?:information|details?|context|data|to (?:answer|go on))\b"
    ),
    (
        r"\b(?:information|details?|answer|data|context)\b[^.;:,]{0,40}\b(?:is|are|was|were)"
        r"\s+(?:insufficient|missing|absent|unavailable|not available|lacking|incomplete)\b"
    ),
    r"\b(?:is|are) (?:absent|missing) from\b",
    # It cannot be answered.
    (
        r"\b(?:cannot|can't|can not|could not|couldn't)(?: reliably| be)*\s+(?:be )?(?:determined|"
        r"answered|established|inferred|confirmed|verified|ascertained|derived|concluded|deduced|"
        rf"found {_OF_DOC}|told {_OF_DOC}|gleaned|read off|identified|worked out|known)\b"
    ),
    (
        r"\b(?:is|was|'s) (?:not possible|impossible|hard|difficult) to (?:say|tell"
        r"|determine|answer|"
        r"know|confirm|establish|ascertain)\b"
    ),
    (
        r"\b(?:falls?|is|lies?|goes|are) (?:well )?(?:outside|beyond) (?:of )?"
        r"(?:(?:the|my|our|this|these)\s+(?:\w+ ){0,2}?(?:scope|knowledge|remit|range|coverage|"
        r"information|documents?|contexts?|sources?|material|expertise)|what (?:i|we|the|was))\b"
    ),
    r"\b(?:outside|beyond) (?:the scope|my (?:knowledge|scope|remit)|what (?:i|we|the))\b",
    (
        r"^(?:this|the|that|your)\s+(?:question|query)\s+(?:is|remains)\s+(?:unanswerable|not "
        r"answerable)"
    ),
    (
        r"^(?:(?:\w+ ){0,4}\w+: ?)?(?:unknown|unanswerable|none found|n/?a\b.{0,40}"
        r"|not (?:mentioned"
        r"|specified|stated|available|found|"
        r"provided|given|answerable|in (?:the|my|these) \w+|enough \w+)\b.{0,60}"
        r"|no answer(?: found)?"
        r"|no idea|insufficient \w+|don't know|idk|no comment|not that i (?:can|know)\b.*)$"
    ),
    r"\b(?:i|we) (?:must|have to|will have to|need to|would rather) (?:decline|pass)\b",
    (
        r"\b(?:i|we) (?:came|come|have come|turned) up (?:empty|with nothing)\b|\bdrew a blank\b|"
        r"\bno luck finding\b"
    ),
)

_DOC_ZH: Final = (
    r"(?:文档|文件|资料|材料|文中|文章|上下文|内容|段落|手册|原文|知识库|信息|说明书|来源|片段"
    r"|数据库|正文|本文|该文|书中|文本|章节|参考|網頁|网页|页面|指南|文献|检索结果|搜索结果"
    r"|資料|文檔|手冊|內容|上文|文獻|規定|规定|条款|政策|合同|协议|报告|公告|章程|制度|档案"
    r"|纪要|教材|词条|条目|问答|常见问题|记录|結果|这里|此处|其中|里面|节选|摘要|文字|数据表"
    r"|年报"
    r"|概况|目录|清单|附件|表格|表中|段|说明)"
)
_NEG_ZH: Final = (
    r"(?:并未|并没有|並未|並沒有|未能|尚未|从未|没有|沒有|均未|都未|未曾|未|没|沒|无|無|不曾|皆未"
    r"|缺少|缺乏|只字未|隻字未)"
)
_TELL_ZH: Final = (
    r"(?:提及|提到|提供|说明|涉及|包含|包括|找到|给出|记载|描述|介绍|明确|指出|显示|列出|涵盖|讨论"
    r"|写明|交代|体现|披露|规定|注明|标明|述及|查到|检索到|搜索到|搜到|回答|解释|谈到|谈及|涉獵"
    r"|說明"
    r"|記載|給出|檢索到|討論|載明|载明|收录|收錄|覆盖|相关|有关|相關|公布|透露|阐述|论及|言明|写到"
    r"|写出|说|提|写|讲到|讲|見到|看到|标注|指明|报告|报道|列示|记述|標註|記述|出现|着墨|談到|标示)"
)
_ZH: Final = (
    (
        rf"{_DOC_ZH}.{{0,16}}?{_NEG_ZH}(?:有|对|對|就|关于|在|明确|具体|直接|详细|进一步"
        rf"|明確|具體|任何"
        rf"|足够|相应|给|为|其|此|这|该|一|，|、|的|.){{0,8}}?{_TELL_ZH}(?!义务|权)"
    ),
    (
        r"(?:并未|並未|未能|尚未|均未|都未|未曾|未|没有|沒有|没|沒|只字未|隻字未)"
        r"(?:能|有|在.{0,12}?|明确|具体|直接|曾|任何|再|进一步)?"
        r"(?:提及|提到|找到|涉及|查到|检索到|搜索到|搜到|記載|记载|给出|谈及|谈到|查询到"
        r"|檢索到|述及"
        r"|注明|写明|载明|收录|披露)"
    ),
    (
        r"(?:文档|文件|资料|材料|上下文|文本|手册|页面|知识库|检索结果|搜索结果|内容|資料|文檔|手冊"
        r"|內容|表"
        r"|文中|其中)(?:里面|里|裡|中|内|內|当中|上)?[^，。；]{0,6}?(?:并|並|也|都|均|皆)?"
        r"(?:没有|沒有|不含|未见|不见|查无)(?!义务|权|要求|必要|限制|规定费)"
    ),
    (
        r"付之阙如|只字未提|隻字未提|无权访问|無權訪問|不足以|无处可查|無處可查|帮不上忙|幫不上忙"
        r"|一片空白|是空白"
        r"|(?:只能|纯属)(?:是)?猜测|不便妄加|妄加推测|答案不在|未见报道|身份不明|我[^，。]{0,3}看不到"
        r"|没看到|没有看到"
        r"|不在.{0,14}之[内中列]|(?:没有|没|沒有|未)(?:写|寫)(?![^，。]{0,4}(?:信|书))"
        r"|：(?:未说明|未提及|不详|未知|未註明|未注明)"
    ),
    (
        r"没有(?:任何|对|就|给|作|做)?.{0,10}?(?:相关|有关|具体|确切|对应|这方面|此类)(?:的)?.{0,8}?"
        r"(?:信息|资料|内容|记录|数据|说明|文档|结果|答案|条目|依据|规定|描述|記錄)"
    ),
    (
        r"(?:對此|对此|就此|这一点|此事|该问题|这个问题|该项).{0,6}?(?:没有|未|沒有|无)(?:作|做|有"
        r"|任何|给出)?"
        r".{0,4}?(?:说明|规定|提及|解释|描述|交代|記載|记载|涉及|介绍|說明|規定)"
    ),
    (
        r"没有(?:说明|規定|规定)(?!的|书|理由|原因)|對.{0,12}沒有說明|对.{0,12}没有(?:说明"
        r"|规定|介绍"
        r"|描述)"
    ),
    (
        r"(?:无法|無法|没法|沒法|不能|难以|難以|无从|無從|未能|不便)"
        r"(?:准确|直接|具体|从|根据|依据|据此|进一步|给|为|明确|就|对|确切|.{0,12}?中)?.{0,6}?"
        r"(?:回答|确定|判断|得知|确认|知道|给出|找到|获取|获知|查到|答复|推断|核实|查询|告知"
        r"|得出|解答|了解|作答|確定|判斷|確認|給出|獲取|答覆|推斷|查詢|告訴您|告诉您|知晓|查证|说明"
        r"|断定"
        r"|看出|定论|提供(?:答案|信息|相关|具体|确切|准确|更多|该|有关|这|您)|評論|回應|回应)"
    ),
    (
        r"^(?:[^，。]{0,8})?(?:我|我们|我這邊|我这边|本人|系统|系統|目前|暂时|暫時"
        r"|很抱歉|抱歉|对不起"
        r"|實在"
        r"|实在|这个|這個|这|该问题|此事)?(?:也|并|並|还|還|暂|都|确实|確實|真的)?(?:不知道|不清楚"
        r"|不了解"
        r"|不太清楚|不太了解|不确定|不確定|不得而知|说不准|說不準|不太确定|不掌握|不知情|不明白)"
    ),
    (
        r"尚不清楚|不得而知|不明确|不明確|无从得知|查不到|找不到|看不出|查无|查無|搜不到"
        r"|不详$|不詳$"
        r"|说不清|判断不了|確定不了|确定不了|回答不了|答不上来|给不了|給不了|爱莫能助"
        r"|没(?:有)?办法回答"
        r"|没有把握|没有头绪|没有答案|沒有答案|无解$|没找着|没能(?:找|查)"
    ),
    (
        r"(?:信息|资料|内容|材料|数据|依据|资讯|資訊|資料|线索)(?:并|尚|还|仍|均|都)?"
        r"(?:不足|不够|不夠|有限|缺失|欠缺|不全|不完整)"
    ),
    (
        r"(?:^|[，：:、 ])(?:目前|暂时|此处|库中|文中|系统中|这里|现)?(?:暂无|暫無|无|無|缺少|缺乏"
        r"|尚无|并无"
        r"|沒有|没有|没)(?:任何|足够|相关|有关|具体|确切|对应|可用|相应|匹配|更多|这方面|該|该|此"
        r"|这|与|關於|关于)"
        r".{0,16}?(?:信息|资料|内容|记录|数据|说明|文档|结果|答案|条目|依据|规定|描述"
        r"|資料|內容|結果"
        r"|資訊|記錄)"
    ),
    r"(?:暂无|暫無|尚无)(?:数据|资料|信息|内容|记录|答案|消息|说明|结果|相关|记载)",
    r"超出.{0,16}(?:范围|範圍|能力|内容|知识)|不在.{0,16}(?:范围|範圍|之列|知识库|资料)",
    (
        r"(?:文档|文件|资料|材料|手册|上下文|文章|知识库|内容|规定|合同|信息|资料库"
        r"|文中|網頁).{0,10}?"
        r"(?:没有|沒有|无|無|不含|不包含|不包括|不涉及|不存在|没|查无|没提|避而不谈)(?:.{0,14})"
        r"(?:信息|资料|内容|记录|说明|规定|答案|数据|描述|記錄|条款|一项|字|细节|部分|$)"
    ),
)
_HINTS: Final = (
    "not no none neither nor never nowhere nothing unable unknown unclear unspecified unstated "
    "unanswered unanswerable uncertain unmentioned undefined unaware unsure unavailable unnamed "
    "unreported insufficient inadequate cannot fail fails failed silent lack lacks lacked "
    "lacking blank beyond outside reach empty guess guesswork speculation n/a na ends end "
    "idk missing absent incomplete decline pass luck drew drawing loss need impossible hard "
    "difficult stumped little yet goes lies falls beats dont dunno"
)
HINTS: Final = frozenset(_HINTS.split())
"""Words of which each English sentence that refuses has one; so has none that is contracted."""
REFUSALS: Final = {"en": re.compile("|".join(_EN)), "zh": re.compile("|".join(_ZH))}
"""English ones are for texts in small letters: to ignore the case costs half as much again."""
COURTESY: Final = re.compile(
    r"(?:(?:i'm |i am |we're |we are |i |we |my |please accept my |our )?(?:very |so |really "
    r"|sincere )?"
    r"(?:sorry|apolog\w+)(?: about that| for (?:the|any) \w+| for that)?$"
    r"|unfortunately$|regrettably$|i (?:looked|checked|searched|went|wish)\b|my search\b"
    r"|hello\b.{0,40}$"
    r"|hi\b.{0,40}$|dear\b.{0,30}$|thanks?\b.{0,80}$|thank you\b.{0,80}$"
    r"|good (?:question|morning|afternoon|evening)\b.{0,40}$|great question\b.{0,20}$"
    r"|(?:please|kindly|feel free|let me know|do let|if (?:you|there|that|this|it)|should you"
    r"|is there|"
    r"would you|could you|can you|happy to|i'?m happy|i'd be happy|i (?:can|could) (?:help|try"
    r"|look|"
    r"check)|you (?:may|might|can|could|should|will|would|'ll)|try\b|consider\b|perhaps\b|maybe\b|"
    r"i(?:'d| would)? (?:recommend|suggest|advise)|we (?:recommend|suggest|advise)|for (?:more"
    r"|further|"
    r"that|this|details|accurate|the latest|an?|specific|precise|current)\b|to (?:get|find|be sure|"
    r"answer|learn|confirm)\b|it (?:may|might|would) be (?:best|worth|better|helpful)|it's (?:best"
    r"|worth)"
    r"|i hope\b|contact\b|check\b|ask\b|see\b|consult\b|best to\b|the best)\b"
    r"|(?:非常|很|十分|真的?|實在|实在)?(?:抱歉|对不起|對不起|遗憾|遺憾|不好意思)(?:了|啊|，"
    r"|,|的是)?$"
    r"|(?:您好|你好|很可惜|可惜|感谢|谢谢|感謝|謝謝|这是个好问题|好的)"
    r"|(?:请|請|烦请|麻烦|如果|如需|如有|如您|若您?|建议|建議|欢迎|歡迎|希望|您可以"
    r"|你可以|可以(?:联系"
    r"|咨询|查阅"
    r"|参考|向|到|试)|可(?:联系|咨询|查阅|参考|向)|要不|最好|需要(?:我|的话|为您|為您)|有需要"
    r"|作为|不妨|方便的话|有需要))",
    re.IGNORECASE,
)
BESIDE: Final = re.compile(
    rf"\b(?:{_DOC}|{_RULES}|they|it|these|those|which|what i (?:have|found)|i (?:only )?(?:see"
    rf"|found|have))\b"
    r"[^.;:]{0,60}?\b(?:only|instead|mainly|mostly|primarily|solely|just|focus\w*|discuss\w*|"
    r"talks?|deals? with|concerns?|is about|are about|covers?|describes?|mentions?|relates?|"
    r"address(?:es)?|concentrat\w+|limited to|stops? (?:at|in)|refers?|goes? (?:on|into)|contains?|"
    r"outlines?|lists?|explains?|ends?)\b"
    r"|(?:只|仅|僅|主要|仅仅|都是?|集中)(?:有|介绍|讨论|涉及|提到|提及|包含|包括|描述|说明|讲"
    r"|谈|關於|关于|是|在|介紹|討論"
    r"|說明|涵盖|限于|到|写|列)|(?:谈|讲|说)的(?:是|都是)|(?:介绍|讲述|討論|讨论|涉及|描述)(?:的是"
    r"|了)",
    re.IGNORECASE,
)
TOPIC_EN: Final = re.compile(
    r"^(?:based on|according to|given|from|regarding|about|as for|with respect to|in the|in these|"
    r"on the basis|without|because|since|so|therefore|thus|hence|and|as|after|having|despite|"
    r"for this|i(?:'ve| have)? (?:searched|looked|checked|read|went|reviewed)|i (?:can|could)|i'd|"
    r"i would|i'm (?:happy|glad)|we can|sorry|unfortunately|you (?:can|may|might|could|should)|if|"
    r"when|where|who|what|whether|why|how|which|please|it (?:may|might|could)|there may|note)\b",
    re.IGNORECASE,
)
TOPIC_ZH: Final = re.compile(
    r"^(?:根据|在|从|關於|关于|对于|對於|基于|就|由于|因为|因此|所以|故|鉴于|检索到|抱歉|对不起"
    r"|很遗憾|遗憾|截至|目前"
    r"|根據|從|基於|由於|至于|至於|针对|針對|经|經|据|我(?:查|看|翻|已|可以|只|手头|能|这|這"
    r"|在|的)|您(?:问|提|可|给)|(?:这|這)段|两份|文(?:章|本)|该(?:段|文)|你(?:问|可)|以免|如"
    r"|若|为|请|建议|具体|也|而|且|并|无论|尽管|虽然)"
    r"|(?:问题|方面|情况|来看|而言|来说|內容|内容|資料|资料|信息|的话|一事|这一点|时|后|中|里)$"
    r"|是否|谁|什么|多少|何时|哪|吗|为何|如何|怎么|几",
)
NEGATED_ZH: Final = re.compile("没有|沒有|未|无法|無法|不能|不便|无从|無從|不在|不含|没|缺")
STATES_ZH: Final = re.compile(
    r"\d|[是为有需须应可会规于由占约达能]|規|已|了|免|不|包|含|支持|允许|位于|属于"
)
