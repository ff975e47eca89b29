package judge

// sense is one thing that people ask for, with its everyday words in the languages that are read. Each row has the same
// sense in all of them, so that no request is read worse for its language. The words are stems, as in language_stems.go.
type sense struct {
	says                   verb
	fr, de, es, pt, it, nl string
	pl, ru, sv, da, tr, ar string
	// unspaced are parts, in Chinese, Japanese and Korean.
	unspaced string
}

var senses = []sense{
	{ // to say yes or no to what somebody applied for
		says: decides,
		fr:   "approuv accept valid refus rejet autoris", de: "genehmig bewillig akzeptier annehm ablehn lehn zustimm freigeb freigib",
		es: "aprueb aprob acept rechac rechaz autoric autoriz deneg", pt: "aprov aceit recus rejeit autoriz indefer",
		it: "approv accett rifiut respin autorizz", nl: "goedkeur keur accepteer weiger",
		pl: "zatwierd zaakcept odrzuć odmów", ru: "одобр утверд отклон прими", sv: "godkänn avslå acceptera neka", da: "godkend afvis accepter",
		tr: "onayla reddet", ar: "وافق اعتمد ارفض اقبل",
		unspaced: "承認 却下 許可 受理 批准 同意 拒绝 驳回 审批 승인 거절 반려 수락",
	},
	{ // to end what runs or comes again and again
		says: removes | controls,
		fr:   "arret stopp cess resili", de: "stopp beend anhalt kundig", es: "deten suspend", pt: "suspend interromp encerr",
		it: "ferma fermi smett sospend interromp disd", nl: "stop beeindig opzeg stopzet", pl: "zatrzym zakończ wypowiedz",
		ru: "останов прекрат", sv: "stoppa avsluta", da: "stop afslut opsig", tr: "durdur sonlandır", ar: "أوقف اوقف",
		unspaced: "止めて 停止 解約 退会 脱退 終了 终止 退出 중지 그만 해지 탈퇴",
	},
	{ // to put away
		says: removes,
		fr:   "archiv rang", de: "archivier ausmist", es: "archiv desech retir", pt: "arquiv joga jogue descart", it: "archivi gett butt",
		nl: "archiveer opruim", pl: "archiwiz wyrzuć", ru: "архив выброс выкин", sv: "arkivera släng", da: "arkiver smid", tr: "arşivle çöpe",
		ar:       "أرشف ارشف تخلص",
		unspaced: "アーカイブ 捨てて 破棄 归档 存档 扔掉 丢掉 보관 버려",
	},
	{ // to make as it was
		says: runs | modifies,
		fr:   "retabl restaur", de: "zuruckroll zurucksetz wiederherstell", es: "reviert revert restaur restablec",
		pt: "revert restaur restabelec",
		it: "ripristin", nl: "herstel terugdraai terugzet", pl: "przywróć cofnij", ru: "откат восстанов", sv: "återställ", da: "gendan",
		ar:       "استعد",
		unspaced: "戻して ロールバック 復元 回滚 恢复 还原 되돌 롤백 복구 복원",
	},
	{ // to take money from somebody
		says: pays,
		fr:   "prelev encaiss debit", de: "einzieh abbuch belast", es: "cobr domicili", pt: "cobr debit", it: "addebit incass riscuot",
		nl: "incasseer afschrijf", pl: "pobierz obciąż", ru: "спиши взыщ", sv: "debitera", da: "opkræv", tr: "tahsil", ar: "اخصم",
		unspaced: "徴収 課金 引き落とし 扣款 收取 징수 청구해",
	},
	{ // to give a thing back for money
		says: pays | removes | modifies | creates,
		fr:   "retourn renvoi renvoy", de: "retournier zuruckgeb zuruckschick umtausch reklamier", es: "devolv devuelv reclam", pt: "devolv",
		it: "restitu rendi", nl: "retourneer terugstuur", pl: "zwróć reklam", ru: "возврат", sv: "returnera", da: "returner", tr: "iade",
		ar: "أرجع استرجع", unspaced: "返品 返却 退货 반품",
	},
	{ // to bring together
		says: modifies,
		fr:   "fusionn regroup", de: "zusammenleg zusammenfuhr vereinig", es: "junta fusion combin", pt: "junta combin", it: "unisc accorp",
		nl: "samenvoeg combineer", pl: "połącz scal", ru: "объедин слей", sv: "sammanfoga", da: "sammenlæg flet", tr: "birleştir", ar: "ادمج دمج",
		unspaced: "統合 結合 マージ 合并 병합 합쳐",
	},
	{ // to hand work to somebody
		says: modifies,
		fr:   "assign attribu affect confie", de: "zuweis zuteil weise ubergib ubergeb", es: "asign", pt: "atribu", it: "assegn affid",
		nl: "toewijs wijs", pl: "przydziel przypisz", ru: "назнач", sv: "tilldela", da: "tildel", tr: "devret", ar: "أسند",
		unspaced: "割り当て 担当を 分配 指派 转给 배정 할당",
	},
	{ // to write down a result
		says: modifies | creates,
		fr:   "saisi inscri", de: "eintrag erfass verbuch", es: "introduc regist calific", pt: "insir insere regist", it: "inser regist",
		nl: "invoer", pl: "wpisz wprowadź", ru: "внеси впиши", sv: "fyll", da: "indtast", ar: "أدخل",
		unspaced: "入力 記入 付けて 录入 填写 登记 打分 입력 기록",
	},
	{ // to hold up for a while
		says: modifies | controls,
		fr:   "suspend interromp silenc", de: "pausier unterbrich aussetz", es: "pausar silenci suspend", pt: "pausar silenci suspend",
		it: "silenzi sospend", nl: "pauzeer demp onderbreek", pl: "wstrzym wycisz", ru: "приостан заглуш", sv: "pausa tysta", da: "dæmp",
		tr: "duraklat sustur", unspaced: "一時停止 ミュート 保留にして 暂停 静音 屏蔽 일시정지 음소거",
	},
	{ // to make warmer, louder, more, or less
		says: modifies | controls,
		fr:   "monte augment diminu regle rechauff", de: "heize heizt aufheiz erwarm leiser lauter", es: "sube suba baja baje ajust calient",
		pt: "aument diminu baixa baixe sube ajust", it: "alza alzi abbass aument regol scald", nl: "verhoog verlaag draai",
		pl: "podkręć podnieś obniż", ru: "повыс пониз", sv: "höj sänk värm", da: "hæv sænk", tr: "artır yükselt düşür", ar: "ارفع اخفض",
		unspaced: "上げて 下げて 温めて 調整して 调高 调低 调整 내려줘 낮춰 높여",
	},
	{ // to put somebody on a list
		says: creates | books | invites,
		fr:   "inscri", de: "anmeld einschreib", es: "inscrib apunt matricul", pt: "inscrev matricul", it: "iscriv", nl: "inschrijf aanmeld",
		pl: "zapisz zarejestr", ru: "запиши зарегистр", sv: "anmäl", da: "tilmeld", tr: "kaydet", unspaced: "申し込 申込 报名 注册 신청",
	},
	{ // to buy again, or to go on with what was bought
		says: pays | creates | modifies,
		fr:   "renouvel redemand rachet", de: "nachbestell verlanger erneuer", es: "renuev renov repon", pt: "renov", it: "rinnov riordin",
		nl: "verleng herbestel nabestel", pl: "odnów przedłuż", ru: "продл", sv: "förnya förläng", da: "forny", tr: "yenile uzat", ar: "جدد",
		unspaced: "再注文 補充 续订 续费 补货",
	},
	{ // to let somebody see
		says:     shares,
		unspaced: "見られるように 見えるように 閲覧できる 可以看 能看到 볼 수 있게",
	},
}

// withSenses adds a language's words of the senses to its stems.
func withSenses(l language, words func(sense) string) language {
	l.stems.says = addSenses(l.stems.says, words)
	return l
}

// addSenses returns a table with the words of the senses in one language.
func addSenses(table map[string]verb, words func(sense) string) map[string]verb {
	rows := map[verb]string{}
	for _, s := range senses {
		rows[s.says] += " " + words(s)
	}
	out := buildWordTable(rows)
	for w, v := range table {
		out[w] |= v
	}
	return out
}
