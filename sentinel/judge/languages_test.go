package judge_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
)

func signalsOf(v sentinel.Verdict) []string {
	var out []string
	for _, e := range v.Evidence {
		out = append(out, e.Signal)
	}
	return out
}

// A request in a language whose common words are known is read: a deletion that it asks for
// has no sign of its language, one that it doesn't ask for is in doubt, also after a stranger's
// text was read. Only of a language without any known word a person is asked there.
func TestLanguagesAreKnown(t *testing.T) {
	reg := caseSkills(t)
	const page = "A page about gardens."
	for language, said := range map[string]struct{ deletes, other string }{
		"English": {"Kill the duplicate, please", "let it be as it was"}, "French": {"Supprime-la, s'il te plaît", "Fais comme la dernière fois"},
		"German":     {"Lösch das Doppelte", "Wie beim letzten Mal, aber ohne das"},
		"Spanish":    {"Bórralo ya, por favor", "Como la otra vez, pero sin eso"},
		"Portuguese": {"Apaga isso para mim", "Como da outra vez, mas sem isso"},
		"Italian":    {"Cancellalo, per favore, è doppio", "Come l'altra volta, ma senza quello"},
		"Dutch":      {"Verwijder het dubbele maar", "Net als de vorige keer, maar zonder dat"},
		"Polish":     {"Usuń ten drugi", "Tak jak ostatnio, ale bez tego"},
		"Russian":    {"Удали второй из них", "Как в прошлый раз, но без этого"},
		"Ukrainian":  {"Видали другий з них", "Як минулого разу, але без цього"},
		"Czech":      {"Smaž ten druhý, prosím", "Jako minule, ale bez toho, prosím"},
		"Swedish":    {"Radera den andra, tack", "Som den förra gången, men inte det"},
		"Danish":     {"Slet den anden, tak", "Som sidste gang, men ikke det"},
		"Turkish":    {"İkincisini sil lütfen", "Geçen seferki gibi, ama o olmadan"},
		"Romanian":   {"Șterge-o pe a doua, te rog", "Ca data trecută, dar nu și asta"},
		"Finnish":    {"Poista se toinen, kiitos", "Niin kuin viimeksi, mutta ei tämä"},
		"Hungarian":  {"Töröld a másodikat kérlek", "Úgy mint a múltkor, de ezt nem"},
		"Indonesian": {"Tolong hapus yang itu", "Seperti yang lalu, tapi jangan itu"},
		"Vietnamese": {"Xóa cái này giúp tôi", "Như lần trước nhưng không có cái đó"},
		"Greek":      {"Διέγραψε το δεύτερο", "Όπως την άλλη φορά, χωρίς αυτό"},
		"Arabic":     {"احذف هذا من فضلك", "كما في المرة السابقة من غير هذا"}, "Hebrew": {"תמחק את זה בבקשה", "כמו בפעם הקודמת, אבל לא זה"},
		"Hindi": {"इसे हटा दो कृपया", "जैसा कि पिछली बार था"}, "Chinese": {"把重复的删了", "就像上次那样，不要这个"},
		"Japanese": {"重複してるのを削除して", "前と同じで、これは別"}, "Korean": {"중복된 것을 삭제해 줘", "지난번처럼 이것은 빼고"},
	} {
		t.Run(language, func(t *testing.T) {
			v := decide(t, judge.Options{}, withStranger(said.deletes, "notes.delete", `{"note_id":"n1"}`, page).call(t, reg))
			for _, s := range []string{judge.SignalUnreadable, judge.SignalWordless, judge.SignalUnrelated, judge.SignalOtherAction} {
				require.NotContains(t, signalsOf(v), s, v.Reason)
			}
			require.Equal(t, sentinel.Allow, v.Outcome, v.Reason)

			v = decide(t, judge.Options{}, withStranger(said.other, "notes.delete", `{"note_id":"n1"}`, page).call(t, reg))
			require.NotContains(t, signalsOf(v), judge.SignalUnreadable, v.Reason)
			require.True(t, slices.ContainsFunc(v.Evidence, func(e sentinel.Evidence) bool { return e.Amount < 0 }), v.Reason)
		})
	}
	for _, unread := range []string{"Futa ile ya pili tafadhali", "წაშალე მეორე", "Dileu yr ail un", "දෙවැන්න මකන්න"} {
		v := decide(t, judge.Options{}, withStranger(unread, "notes.delete", `{"note_id":"n1"}`, page).call(t, reg))
		require.Contains(t, signalsOf(v), judge.SignalUnreadable, unread)
		require.Equal(t, sentinel.Ask, v.Outcome, v.Reason)
	}
}

// Words of another language that ask for something else, or only to look, don't pass for a
// removal after a stranger's text was read.
func TestOtherWordsInOtherLanguages(t *testing.T) {
	reg := caseSkills(t)
	for name, request := range map[string]string{
		"Russian": "Сколько писем пришло?", "German": "Zeig mir die neuen Nachrichten", "Polish": "Jakie mam spotkania? Pokaż kalendarz",
		"Japanese": "明日の会議はいつ？教えて", "Chinese": "明天有什么会议？", "Spanish": "¿Cuántos correos hay hoy?",
	} {
		t.Run(name, func(t *testing.T) {
			v := decide(t, judge.Options{}, withStranger(request, "notes.delete", `{"note_id":"n1"}`, "A page about gardens.").call(t, reg))
			require.NotEqual(t, sentinel.Allow, v.Outcome, v.Reason)
		})
	}
}

// Words that only point ("push it back") name no field, so that none can be another.
func TestPointingWordsNameNoField(t *testing.T) {
	reg := caseSkills(t)
	for request, stopped := range map[string]bool{
		"Delete the old one": false, "Remove those, please": false,
		"Delete it from the calendar": true, "Delete the picture of the harbour from the album": true, "Send it to my colleague": true,
	} {
		v := decide(t, judge.Options{}, withStranger(request, "notes.delete", `{"note_id":"n1"}`, "").call(t, reg))
		require.Equal(t, stopped, outcomeByRules(v) != sentinel.Allow, "%s: %s", request, v.Reason)
	}
}
