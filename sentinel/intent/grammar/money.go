package grammar

import "github.com/vedette-dev/vedette/sentinel/intent"

// currencyWords are the currencies that the rules know by their signs and words. One that the vocabulary doesn't have
// makes the text no intent.
var currencyWords = map[string]string{
	"€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR",
	"$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "dolares": "USD", "dolar": "USD", "bucks": "USD",
	"£": "GBP", "gbp": "GBP", "pound": "GBP", "pounds": "GBP", "pfund": "GBP", "libras": "GBP", "livres": "GBP", "quid": "GBP",
	"chf": "CHF", "franken": "CHF", "francs": "CHF", "francos": "CHF", "sfr": "CHF",
	"¥": "JPY", "jpy": "JPY", "yen": "JPY", "cny": "CNY", "yuan": "CNY", "rmb": "CNY", "rub": "RUB", "rubles": "RUB", "roubles": "RUB",
	"rubel": "RUB", "inr": "INR", "rupees": "INR", "₹": "INR", "krw": "KRW", "₩": "KRW", "brl": "BRL", "reais": "BRL", "sek": "SEK",
	"nok": "NOK", "dkk": "DKK", "kronor": "SEK", "kronen": "DKK", "pln": "PLN", "zloty": "PLN", "czk": "CZK", "huf": "HUF", "lira": "TRY",
	"aud": "AUD", "cad": "CAD", "nzd": "NZD", "sgd": "SGD", "hkd": "HKD", "zar": "ZAR", "mxn": "MXN", "pesos": "MXN", "btc": "BTC",
	"bitcoin": "BTC", "bitcoins": "BTC", "eth": "ETH",
}

// amount is money in a text.
type amount struct {
	number
	currency string
}

// amountAt reads the amount that begins at token i: a number beside a currency.
func (g *Grammar) amountAt(t tokens, i int) (amount, bool) {
	if code := g.currencyAt(t, i); code != "" { // $ 20, EUR 5000, -$ 5
		n, ok := g.numberAt(t, i+1)
		if !ok {
			return amount{}, false
		}
		if t.isMark(i-1, "-") && !t[i].spaced {
			n.negative = true
		}
		n.from = i
		return amount{n, code}, true
	}
	n, ok := g.numberAt(t, i)
	if !ok {
		return amount{}, false
	}
	if code := g.currencyAt(t, n.to); code != "" {
		n.to++
		return amount{n, code}, true
	}
	return amount{number: n}, false
}

// currencyAt returns the code of the currency at token i, empty for none.
func (g *Grammar) currencyAt(t tokens, i int) string {
	if i < 0 || i >= len(t) || t[i].kind == figures {
		return ""
	}
	return currencyWords[t[i].text]
}

// money returns the amount as a draft has it.
func (a amount) money() *intent.DraftMoney {
	return &intent.DraftMoney{Amount: a.decimal(), Currency: a.currency}
}
