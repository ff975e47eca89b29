package judge

// newLanguage reads a language of which endings vary: all but its function words are stems.
func newLanguage(function string, says map[verb]string, about map[concept]string) language {
	return language{function: wordSet(foldText(function)), stems: stems{says: buildWordTable(says), about: buildWordTable(about)}}
}

// Languages of which fewer words are known.
var (
	polish = newLanguage(`i w z na do nie to co jak za od po dla o sie jest te ta ten tego tej tym tych mi mnie moje moj moja moim
		ci jej jego im ich proszę czy ile kiedy gdzie który która które już jeszcze tylko wszystkie wszystko przed przez bez pod nad
		u ale albo lub żeby aby jutro dzisiaj dziś wczoraj niech tak nasz nasze są był była`,
		map[verb]string{
			sends:   "wyśl wyślij napisz odpisz odpowie odpowiedz przekaż przekaz poinformuj powiedz powiadom zapytaj przypomnij podziękuj",
			pays:    "zapłać zapłac opłać opłac przelej przelew kup zamów zwróć zwroc doładuj zleceni",
			creates: "utwórz utworz stwórz dodaj zapisz zaplanuj umów ustaw zrób zanotuj przygotuj załóż wpisz",
			modifies: "zmień zmien zmieni przenie przesuń przesun ustaw popraw zaktualizuj zamień edytuj przełóż zamknij oznacz podnieś " +
				"obniż przedłuż",
			removes: "usuń usun skasuj anuluj wyczyść odwołaj odwolaj wyrzuć zarchiwizuj wypisz", books: "zarezerwuj rezerw umów zamów kup",
			invites: "zaproś zapros dodaj", shares: "udostępnij udostepn daj", posts: "opublikuj wrzuć",
			controls: "włącz wyłącz wlacz wylacz odblokuj zablokuj otwórz zamknij ustaw pozwól przygaś", runs: "uruchom zainstaluj wdróż",
			looks: "pokaż znajdź sprawdź przeczytaj poszukaj wyszukaj podsumuj policz porównaj ile jaka jaki jakie kto",
		}, map[concept]string{
			fields.mail: "mail wiadomoś wiadomos poczt skrzynk", fields.calendar: "spotkani kalendarz wydarzeni termin wizyt",
			fields.money: "przelew rachun faktur płatnoś platnos konto konta pieniąd czynsz zleceni", fields.file: "plik folder dokument katalog",
			fields.task: "zadani przypomnieni", fields.note: "notat", fields.order: "zamówieni koszyk paczk", fields.hotel: "hotel pokój pokoj",
			fields.travel: "lot bilet pociąg podróż",
			fields.device: "światł lamp ogrzewan drzwi alarm", fields.web: "stron link", fields.person: "koleg kontakt",
			fields.chat: "kanał czat grup",
		})
	russian = newLanguage(`и в во не на я что с со как а то по к у за из от о об для мне мой моя мое мои меня это эти этот эту его ее
	их ему ей им
		нам нас вы ты все всё уже еще только или если когда где кто чтобы пожалуйста сколько какой какая какие до без под при был была
		есть же бы да нет`,
		map[verb]string{
			sends:    "отправ напиш написа ответ перешл сообщ скаж передай напомн спрос уведом поблагодар",
			pays:     "оплат заплат перевед переве купи закаж верни возмест",
			creates:  "созда добав запиш сохран заплан назнач поставь подготов состав зарегистр",
			modifies: "измен смен поменя перенес обнов исправ переимен замен сдвин отредакт закрой увелич уменьш продли",
			removes:  "удал сотр отмен очист убер архивир выброс отпиш", books: "заброн забронир закаж", invites: "приглас добав",
			shares: "подел дай",
			posts:  "опублик", controls: "включ выключ отключ откро закро разреш заблокир разблокир", runs: "запуст установ разверн",
			looks: "покаж найди прочит посмотр провер подсчит сравн поищ скольк какой какая",
		}, map[concept]string{
			fields.mail: "писем письм почт сообщени", fields.calendar: "встреч календар событи совещани",
			fields.money: "счет счёт платеж перевод деньг оплат аренд зарплат",
			fields.file:  "файл папк документ", fields.task: "задач напоминан", fields.note: "заметк", fields.order: "заказ корзин посылк",
			fields.hotel:  "отел гостиниц номер",
			fields.travel: "рейс билет поезд поездк", fields.device: "свет ламп отоплени двер сигнализац", fields.web: "сайт ссылк",
			fields.person: "коллег контакт", fields.chat: "канал чат групп",
		})
	ukrainian = newLanguage(`і й та в у на не я що з із як а до за від для мені мій моя моє мої це ці цей цю його її їх йому їй нам
	нас ви ти все вже ще
		тільки або якщо коли де хто щоб будь ласка скільки який яка які без під був була є ж би так ні`,
		map[verb]string{
			sends: "надішл надісл напиш відповід відпиш перешл повідом скаж нагада", pays: "оплат сплат заплат перекаж куп замов поверн",
			creates:  "створ дода запиш збереж заплан признач підгот",
			modifies: "зміни змін перенес онов виправ перейм замін закри", removes: "видал скасу очист прибер архів", books: "заброн замов",
			invites: "запрос дода", shares: "поділ дай",
			controls: "увімкн вимкн відкри закри дозвол", runs: "запуст встанов", looks: "покаж знайд прочит подив перевір порівн скільк",
		}, map[concept]string{
			fields.mail: "лист пошт повідомлен", fields.calendar: "зустріч календар поді", fields.money: "рахун платіж переказ грош",
			fields.file: "файл папк документ",
			fields.task: "завдан нагадуван", fields.order: "замовлен", fields.device: "світл ламп двер",
		})
	czech = newLanguage(`a v ve na se si je to co jak za od po pro o s z ze do ne ten ta toto tento tuto ty mi mě můj moje mu jí jim
	ji ho prosím kdy kde kdo který která
		které už jen nebo aby že před bez pod zítra dnes včera kolik jsou byl`,
		map[verb]string{
			sends: "pošl posl napiš napis odpověz odpis přepošl řekni informuj připom", pays: "zaplať zaplat převeď uhraď kup koup objedn",
			creates:  "vytvoř přidej zapiš ulož naplán připrav",
			modifies: "změň změn přesuň uprav přejmen nahra zavři", removes: "smaž smaz odstra zruš zrus vymaž archiv",
			books: "rezerv zarezerv objedn", invites: "pozvi přidej", shares: "sdílej sdil",
			controls: "zapni vypni otevři zavři povol", looks: "ukaž najdi přečti zkontroluj porovn kolik",
		}, map[concept]string{
			fields.mail: "zpráv mail pošt", fields.calendar: "schůz kalend událost", fields.money: "faktur platb účet převod",
			fields.file: "soubor složk dokument", fields.order: "objednáv",
		})
	swedish = newLanguage(`och att det som en ett den de på är av för med till inte jag mig min mitt mina du han hon om har ska kan vi
	oss från så men
		eller när var vad hur tack snälla alla allt redan bara också honom henne dem igår imorgon idag`,
		map[verb]string{
			sends: "skick sänd skriv svara meddela säg fråga påminn vidarebefordr", pays: "betal överför köp beställ",
			creates: "skapa lägg spara boka planera förbered anteckna", modifies: "ändra uppdater flytta byt redigera rätta stäng",
			removes: "ta radera avbok avbeställ rensa släng arkivera", books: "boka reservera", invites: "bjud", shares: "dela ge",
			posts: "publicera", controls: "stäng slå tänd släck öppna lås aktivera", looks: "visa hitta läs sök kolla kontrollera hur",
		}, map[concept]string{
			fields.mail: "mejl mail meddelande", fields.calendar: "möte kalender", fields.money: "faktur betalning konto hyra",
			fields.file: "fil filer mapp dokument", fields.order: "beställning",
		})
	danish = newLanguage(`og at det som en et den de på er af for med til ikke jeg mig min mit mine du han hun om har skal kan vi os
	fra så men
		eller når hvad hvor hvordan tak alle alt allerede kun også ham hende dem jeg vær vaere venligst ikke dit jeres deres`,
		map[verb]string{
			sends: "send skriv svar fortæl sig spørg mind videresend", pays: "betal overfør køb kjøp bestil",
			creates: "opret opprett lav lag gem lagre tilføj legg læg planlæg noter", modifies: "ændr endr opdater oppdater flyt rediger ret",
			removes: "slet slett fjern annull afbestil avbestill ryd arkiver", books: "book bestil reserver", invites: "inviter",
			shares: "del giv gi", controls: "tænd sluk slå åbn åpne lås luk", looks: "vis find finn læs les søg søk tjek sjekk",
		}, map[concept]string{
			fields.mail: "mail besked melding", fields.calendar: "møde møte kalender", fields.money: "faktura regning betaling konto husleje",
			fields.file: "fil filer mappe dokument", fields.order: "bestilling",
		})
	turkish = newLanguage(`ve bir bu da de için ile ne mi mı mu benim bana beni onu ona o şu çok en daha gibi ama var yok lütfen kadar
	sonra önce olan olarak her tüm
		hepsini kaç nasıl nerede hangi değil yarın bugün dün`,
		map[verb]string{
			sends: "gönder yolla yaz cevapla yanıtla ilet bildir söyle sor hatırlat", pays: "öde satın al havale iade sipariş",
			creates: "oluştur ekle kaydet planla hazırla not", modifies: "değiştir güncelle taşı düzelt düzenle ertele",
			removes: "sil iptal kaldır temizle arşivle çıkar", books: "rezerv ayırt", invites: "davet", shares: "paylaş ver",
			controls: "aç kapat kilitle etkinleştir", looks: "göster bul oku ara bak kontrol listele kaç",
		}, map[concept]string{
			fields.mail: "mesaj posta mail", fields.calendar: "toplantı takvim randevu", fields.money: "fatura ödeme hesap havale kira",
			fields.file: "dosya klasör belge", fields.order: "sipariş sepet",
		})
	romanian = newLanguage(`și si în la de pe cu nu că ca din pentru este sunt o un una mi îmi mea meu mele lui ei lor să se ce cum
	când unde care te rog toate tot
		acest această acestea fără după mâine azi ieri doar și-a`,
		map[verb]string{
			sends: "trimi scrie răspun transmi spune anunț", pays: "plăt achit transfer cump comand",
			creates: "cree adaug salv program notează pregăt", modifies: "modific schimb actualiz mută redenum",
			removes: "șterg sterge anul elimin arhiv", books: "rezerv", invites: "invit", shares: "partaj",
			controls: "pornește oprește deschide închide", looks: "arat caut găse citește verific cât câte",
		}, map[concept]string{
			fields.mail: "mesaj mail", fields.calendar: "întâlnire calendar", fields.money: "factur plată cont",
			fields.file: "fișier dosar document", fields.order: "comanda",
		})
	finnish = newLanguage(`ja on ei se että en ole mutta tai kun jos niin minun minä mulle minulle sinä hän nyt vain kaikki tämä tuo
	ne mitä missä milloin
		kuka kuinka ole hyvä kiitos siitä sitä huomenna tänään eilen`,
		map[verb]string{
			sends: "lähet kirjoita vastaa kerro ilmoita muistuta", pays: "maksa siirrä osta tilaa", creates: "luo lisää tallenna varaa tee",
			modifies: "muuta vaihda siirrä päivitä", removes: "poista peru peruuta tyhjennä arkistoi",
			books: "varaa", invites: "kutsu", shares: "jaa", controls: "sulje avaa kytke sammuta",
			looks: "näytä etsi lue hae tarkista montako paljonko",
		}, map[concept]string{
			fields.mail: "viesti sähköposti", fields.calendar: "kokous kalenteri", fields.money: "lasku maksu tili",
			fields.file: "tiedosto kansio", fields.order: "tilaus",
		})
	hungarian = newLanguage(`a az és hogy nem egy is ez ezt azt meg van volt csak már mert ha de vagy mint nekem engem minden kérem
	kérlek hol mikor ki mi mit hány mennyi
		holnap ma tegnap neki`,
		map[verb]string{
			sends: "küld írj válaszol továbbít szólj mondd értesít", pays: "fizes fizet utal vegyél vedd rendel",
			creates: "hozz készíts adj ments írd", modifies: "módosít változtat frissít helyezd tedd",
			removes: "töröl törl mondd távolít ürít", books: "foglal", invites: "hívd", shares: "oszd", controls: "kapcsol zárd nyisd",
			looks: "mutasd keres olvas nézd ellenőr hány",
		}, map[concept]string{
			fields.mail: "levél üzenet", fields.calendar: "találkoz naptár megbeszél", fields.money: "számla számlá fizetés",
			fields.file: "fájl mappa", fields.order: "rendelés",
		})
	indonesian = newLanguage(`yang dan di ke dari untuk dengan ini itu saya aku kamu tidak jangan semua sudah akan pada ada juga atau
	tolong mohon apa siapa kapan
		berapa bagaimana dia mereka nya besok hari kemarin lalu`,
		map[verb]string{
			sends: "kirim tulis balas teruskan beri tahu kabari", pays: "bayar transfer beli pesan",
			creates: "buat tambah simpan catat jadwalkan", modifies: "ubah ganti pindah perbarui", removes: "hapus batal buang",
			books: "pesan booking", invites: "undang", shares: "bagikan", controls: "nyalakan matikan buka tutup kunci",
			looks: "tampilkan cari baca lihat periksa berapa",
		}, map[concept]string{
			fields.mail: "pesan surel email", fields.calendar: "rapat kalender jadwal", fields.money: "tagihan pembayaran rekening",
			fields.file: "berkas folder dokumen", fields.order: "pesanan",
		})
	vietnamese = newLanguage(`và của là cho có không được trong một các những này đó với tôi mình bạn anh chị em tất cả hãy giúp đi ở
	vào ra đã sẽ
		khi nào ai gì bao nhiêu từ đến lại thì`,
		map[verb]string{
			sends: "gửi nhắn viết báo", pays: "trả mua chuyển", creates: "tạo thêm ghi lưu", modifies: "sửa đổi dời", removes: "xóa hủy",
			books: "đặt", invites: "mời", controls: "bật tắt mở đóng", looks: "xem tìm đọc",
		},
		map[concept]string{fields.mail: "thư email", fields.calendar: "lịch họp", fields.money: "tiền hóa", fields.file: "tệp"})
	greek = newLanguage(`και το τα του της τον την στο στη στην με σε για που να δεν μου μας σου ένα μια είναι από ό,τι αυτό αυτά όλα
	πώς πότε πού ποιος πόσα πόσο παρακαλώ
		θα τους τις οι η ο`,
		map[verb]string{
			sends: "στείλ στειλ γράψ απάντησ προώθησ πες ενημέρωσ", pays: "πλήρωσ πληρωσ μετέφερ αγόρασ παράγγειλ",
			creates: "δημιούργησ πρόσθεσ φτιάξ αποθήκευσ", modifies: "άλλαξ μετακίνησ ενημέρωσ", removes: "διέγραψ σβήσ ακύρωσ",
			books: "κλείσ κράτησ", invites: "κάλεσ προσκάλεσ", shares: "μοιράσ", controls: "άνοιξ κλείσ άναψ σβήσ",
			looks: "δείξ βρες διάβασ ψάξ έλεγξ πόσ",
		}, map[concept]string{
			fields.mail: "μήνυμα μηνύματα mail", fields.calendar: "ραντεβού συνάντησ", fields.money: "λογαριασμ πληρωμ τιμολόγι",
			fields.file: "αρχεί φάκελ", fields.order: "παραγγελί",
		})
	arabic = newLanguage(`من في على إلى عن ثم أن إن لا ما هذا هذه ذلك تلك كل مع لي أنا كما بعد قبل أو و هو هي هل كم متى أين الذي التي
	قد لم لن
		لو فضلك رجاء اليوم غدا أمس لها له لهم عند عندي بين فقط أيضا حتى إذا وحدها نفس كان يكون`,
		map[verb]string{
			sends: "أرسل ارسل اكتب رد أجب أخبر ابعث وجه بلغ ذكر", pays: "ادفع دفع حول اشتر سدد اطلب أكمل أتمم",
			creates:  "أنشئ أضف سجل احفظ جهز اكتب دون حدد",
			modifies: "عدل حدث انقل أجل بدل صحح اجعل", removes: "احذف امسح ألغ أزل أفرغ", books: "احجز حجز أكمل", invites: "ادع أضف",
			shares: "شارك أعط", posts: "انشر",
			controls: "افتح أغلق شغل أطفئ فعل عطل اسمح", looks: "اعرض ابحث اقرأ أظهر لخص تأكد تحقق راجع كم",
		}, map[concept]string{
			fields.mail: "بريد رسال رسائل", fields.calendar: "اجتماع موعد تقويم", fields.money: "فاتور حساب تحويل مبلغ إيجار",
			fields.file: "ملف مجلد مستند", fields.order: "طلب سل", fields.travel: "رحل طيران تذكر حجز",
			fields.hotel: "فندق غرف", fields.task: "مهم تذكير", fields.device: "ضوء باب نور",
		})
	hebrew = newLanguage(`את של על לא זה זאת אני לי הוא היא עם אל מה כל גם אם או כי אבל יש אין היה בבקשה מתי איפה מי כמה איך רק עד
	אחרי לפני הזה האלה שלי אותו אותה`,
		map[verb]string{
			sends: "שלח תשלח כתוב תכתוב השב ענה העבר הודע תגיד", pays: "שלם תשלם העבר קנה תקנה הזמן תזמין",
			creates: "צור הוסף תוסיף שמור רשום קבע", modifies: "שנה תשנה עדכן הזז דחה", removes: "מחק תמחק בטל תבטל הסר",
			books: "הזמן תזמין קבע", invites: "הזמן", shares: "שתף", controls: "כבה הדלק פתח סגור נעל", looks: "הצג מצא חפש קרא בדוק כמה",
		}, map[concept]string{
			fields.mail: "מייל הודע", fields.calendar: "פגיש יומן", fields.money: "חשבונ תשלום העבר", fields.file: "קובץ קבצ תיקי",
			fields.order: "הזמנ",
		})
)
