package judge

import "strings"

// furtherAsks are what people ask for in languages of which nothing else is
// known here: enough to see that a request has asked for such a call, and never
// that it has not.
var furtherAsks = plainly(map[verb]string{
	removes: fold(`usun usuncie skasuj anuluj wyczysc удали удалить сотри отмени очисти видали скасуй
		sil iptal temizle ta radera slet slett smaz zrus
		احذف امسح ألغ מחק בטל हटा`),
	pays: fold(`zapłać zapłac zaplac przelej opłać kup zamow oplac заплати оплати переведи ` +
		`купи закажи ode satin betala overfor kop kob betal zaplat كوب ادفع حول اشتر שלם העבר קנה`),
	sends: fold(`wyslij napisz odpisz przekaz отправь напиши ответь перешли надішли gonder ` +
		`yaz ilet skicka skriv posli napis أرسل ارسل اكتب שלח כתוב`),
	modifies: fold(`zmien ustaw przenies измени смени поменяй перенеси обнови degistir guncelle ` +
		`andra uppdatera endre zmen غير عدل שנה עדכן`),
	books:             fold(`zarezerwuj забронируй закажи rezerve ayirt boka bestil rezervuj احجز הזמן`),
	controls:          fold(`wylacz wlacz odblokuj выключи отключи включи открой разреши kapat ac stang oppna vypni أغلق افتح כבה פתח`),
	shares:            fold(`udostepnij поделись paylas dela del sdilej شارك שתף`),
	invites | creates: fold(`zapros dodaj пригласи добавь создай davet ekle bjud lagg legg pridej أضف הוסף`),
})

// furtherParts are the same for scripts that put no blanks between words.
var furtherParts = func() map[string]verb {
	out := map[string]verb{}
	for v, row := range map[verb]string{
		removes: "删除 取消 清空 削除 消して 消去 キャンセル 삭제 취소", pays: "支付 付款 转账 购买 订购 支払 振り込 振込 送金 買って 購入 注文 결제 송금 구매 주문",
		sends: "发送 发给 发邮件 回复 转发 送って 送信 メールして 返信 보내", modifies: "修改 更改 更新 変更 変えて 변경", books: "预订 预定 予約 예약",
		controls: "关闭 打开 开启 オフ オン 無効 有効 꺼 켜", shares: "分享 共享 共有 공유", invites | creates: "邀请 添加 招待 追加 초대 추가",
	} {
		for w := range strings.FieldsSeq(row) {
			out[fold(w)] |= v
		}
	}
	return out
}()

// asks is what the words of a text may ask for in any language that has a
// table here.
func (t *text) asks() verb {
	says := t.says
	for w := range t.raw {
		says |= furtherAsks[w]
		for i := range tongues {
			says |= tongues[i].says[w]
		}
	}
	for part, v := range furtherParts {
		if strings.Contains(t.fold, part) {
			says |= v
		}
	}
	return says & anyChange
}

// rightsPhrase reads phrases of who may do what and of what is known of
// somebody: "make Kim an owner", "give her access", "change Kim's number",
// "mark it as done".
func (t *text) rightsPhrase(list []token) {
	rest := list[1:]
	switch list[0].word {
	case "make", "promote", "appoint", "demote":
		if near(rest, 8, wideWords) {
			t.says |= shares | controls | modifies | invites
			t.concepts |= concepts[stem("role")]
		}
	case "give", "grant", "let", "allow":
		if near(rest, 8, accessWords) {
			t.says |= shares | controls | modifies
			t.concepts |= concepts[stem("role")]
		}
	case "mark", "tick", "check", "cross":
		if near(rest, 8, doneWords) {
			t.concepts |= concepts[stem("task")]
		}
	case "change", "update", "set", "correct", "replace":
		t.paying(rest)
		if near(rest, 5, detailWords) {
			t.concepts |= concepts[stem("contact")] | concepts[stem("profile")]
		}
	case "create", "schedule", "start":
		t.paying(rest)
	case "text", "message", "dm", "sms":
		if list[0].first && len(rest) > 0 {
			t.talks()
		}
	}
}

// paying reads "set up a standing order": a thing to be made that pays.
func (t *text) paying(rest []token) {
	if near(rest, 4, payNouns) && !near(rest, 4, aboutNouns) {
		t.says |= pays
	}
}

var (
	payNouns    = set("payment transfer order debit donation subscription")
	aboutNouns  = set("reminder note task event alert meeting rule to in my")
	wideWords   = set("public private owner admin administrator editor viewer moderator member manager")
	accessWords = set("access open edit view role rights permission permissions")
	doneWords   = set("done complete completed finished off")
	detailWords = set("phone number email address birthday mobile")
)
