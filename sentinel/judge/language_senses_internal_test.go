package judge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What people ask for is read alike in each language.
func TestSensesInEachLanguage(t *testing.T) {
	for want, requests := range map[verb][]string{
		decides: {
			"Approve the two requests, please", "Approuve les deux demandes", "Genehmige die beiden Anträge", "Aprueba las dos solicitudes",
			"Aprova os dois pedidos", "Approva le due richieste", "Accepteer de twee aanvragen", "Zatwierdź oba wnioski", "Одобри обе заявки",
			"Godkänn båda ansökningarna", "İki talebi onayla lütfen", "وافق على الطلبين من فضلك", "二件とも承認して", "把这两个申请批准了", "두 건 다 승인해 줘",
		},
		removes: {
			"Archive the three mails", "Archive les trois mails", "Archivier die drei Mails", "Archiva los tres correos", "Arquiva os três emails",
			"Archivia le tre mail", "Archiveer de drie mails", "أرشف كل الرسائل", "三通ともアーカイブして", "把这三封归档", "세 통 다 보관해 줘",
			"Joga fora os três emails", "Arrête le virement, s'il te plaît",
		},
		runs: {
			"Roll staging back to the version before", "Put checkout back to what it was before", "Restaure la version d'avant",
			"Restaura la versión anterior, por favor", "Ripristina la versione di prima", "前のバージョンに戻して", "回滚到上一个版本", "이전 버전으로 되돌려 줘",
		},
		pays: {
			"Prélève la cotisation, s'il te plaît", "Cobra la cuota a los dos", "Cobra a quota aos dois, por favor", "Addebita la quota ai due soci",
			"会費を徴収して", "收取会费", "회비를 징수해 줘",
		},
		modifies: {
			"Combine the three tickets", "Fusionne les trois tickets", "Junta los tres tickets con el primero", "Unisci i tre ticket con il primo",
			"三つのチケットを統合して", "把三个工单合并", "세 티켓을 병합해 줘",
		},
	} {
		for _, request := range requests {
			require.NotZero(t, readText(request).verbsAsked()&want, request)
		}
	}
}

// A word that only tells or names something asks for nothing.
func TestSensesThatOnlyTell(t *testing.T) {
	for request, not := range map[string]verb{
		"Has he accepted my offer?": decides, "She approved it yesterday": decides, "What is in the archive?": removes,
		"Is the mail archived?": removes, "Ist der Antrag genehmigt?": decides, "À quelle heure est la réunion de demain ?": modifies,
		"let me see the report": shares,
	} {
		require.Zero(t, readText(request).says&not, request)
	}
}
