package judge

// The stems of the languages whose common words stand in languages.go. A stem is long
// enough that few other words begin with it.
var (
	frenchStems = stems{
		says: addSenses(buildWordTable(map[verb]string{
			sends:   "envoy envoi repond ecri transme transfer previen previen informez informer annonc demand remerci relanc avert dis",
			pays:    "paye payez paie virer virez verser rembours achet command regle acquitt",
			creates: "cree ajout redig enregistr planifi programm organis prepar inscri pose note genere ouvr",
			modifies: "modifi chang deplac decal report renomm corrig remplac met mett avanc augment baiss rédui reduis renouvel repouss " +
				"fusionn ferm clotur",
			removes: "supprim effac annul retir enlev archiv vide jett desinscri resili dégag",
			books:   "reserv planifi pose prend", invites: "invit ajout convi", shares: "partag donn accord", posts: "publi post",
			controls: "allum etein desactiv activ verrouill deverrouill ouvr ferm coup baiss lance arret autoris redemarr",
			runs:     "lanc execut deploi deploy installe installer",
			looks: "cherch trouv montr affich list resum verifi regard compar calcul compt " +
				"combien quel",
		}), func(s sense) string { return s.fr }),
		about: buildWordTable(map[concept]string{
			fields.mail: "mail courriel messag", fields.calendar: "reunion rendez agenda calendrier evenement creneau",
			fields.money: "factur virement paiement argent loyer salaire montant abonnement avoir", fields.file: "fichier dossier document",
			fields.task: "tache", fields.hotel: "hotel chambr", fields.travel: "vol vols avion train billet voyage valise",
			fields.device: "lumiere lampe chauffage volet porte alarme thermostat camera",
			fields.order:  "commande panier colis livraison article", fields.code: "depot branche serveur machine",
			fields.person: "colleg contact", fields.chat: "canal salon discussion",
		}),
	}
	germanStems = stems{
		says: addSenses(buildWordTable(map[verb]string{
			sends: "schick send schreib antwort beantwort weiterleit informier benachrichtig erinner melde frag sag gratulier mail ping",
			pays:  "zahl bezahl uberweis kauf bestell erstatt begleich nimm nehm order",
			creates: "erstell anleg schreib speicher notier plan eintrag trag vereinbar blockier reservier fuge fug hinzu anlegt leg richt " +
				"beantrag mach stell",
			modifies: "ander aktualisier verschieb umbenenn benenn ersetz korrigier bearbeit verleg verlang erhoh senk setz stell schliess " +
				"mach tausch erneuer ruck hang",
			removes: "losch geloscht entfern stornier kundig absag abgesagt abbestell archivier raum wegraum raus weg schmeiss wirf streich " +
				"leer abmeld",
			books: "buch gebucht reservier bestell nimm nehm vereinbar", invites: "lad einlad fug hinzu nimm nehm aufnehm hol",
			shares: "teil geteilt freigeb freigib gib geb", posts: "veroffentlich post",
			controls: "schalt aktivier deaktivier sperr entsperr erlaub offn schliess mach stell dreh dimm lass",
			runs:     "start fuhr ausfuhr installier deploy", looks: "lies les such find zeig fass zusammenfass pruf list schau guck sieh " +
				"vergleich berechn wieviel",
		}), func(s sense) string { return s.de }),
		about: buildWordTable(map[concept]string{
			fields.mail:     "mail nachricht postfach posteingang newsletter",
			fields.calendar: "termin besprechung kalender meeting zahnarzt arzttermin treffen",
			fields.money:    "rechnung zahlung uberweisung miete konto gehalt betrag dauerauftrag honorar",
			fields.file:     "datei ordner dokument unterlage",
			fields.task:     "aufgabe erinnerung", fields.hotel: "hotel zimmer unterkunft", fields.travel: "flug fluge zug bahn reise ticket",
			fields.device: "licht lampe heizung tur haustur alarm thermostat rolllad rollad kamera",
			fields.order:  "bestellung warenkorb paket lieferung", fields.code: "repo branch server",
			fields.person: "kolleg kontakt", fields.chat: "kanal chat gruppe",
		}),
	}
	spanishStems = stems{
		says: addSenses(buildWordTable(map[verb]string{
			sends:   "envi envie manda mande respond escrib reenvi avisa avise informa contest dile diles pregunt recuerd pasa pase comunic",
			pays:    "pagal pagas paguen pague transf compra compre compro reembols devuelv abon ingres pide ped",
			creates: "crea cree anad agreg program agend guard anot apunt prepar organi redact pon registr genera abre",
			modifies: "modific cambi actuali mueve muev renombr reprogram edit sustitu corrig correg aplaz retras adelant pon cierra cerr " +
				"sube baja renov",
			removes: "borr elimin cancel quit anul archiv vaci tira desuscrib", books: "reserv coge saca compr",
			invites: "invit anad agreg mete suma",
			shares:  "compart pasa da dale dales", posts: "publica publique",
			controls: "enciend apag activ desactiv bloque desbloque abre abri cierra sube baja permit", runs: "ejecut lanz instal despleg arranc",
			looks: "lee leer busc encuentr muestr ensen list resum revis comprueb compar calcul cuant mira dime",
		}), func(s sense) string { return s.es }),
		about: buildWordTable(map[concept]string{
			fields.mail: "correo mensaj mail", fields.calendar: "reunion cita calendario evento",
			fields.money: "factura pago transferenci dinero alquiler cuenta sueldo fianza",
			fields.file:  "archivo fichero carpeta documento", fields.task: "tarea recordatorio", fields.hotel: "hotel habitacion",
			fields.travel: "vuelo tren billete viaje maleta",
			fields.device: "luz luces lampara calefaccion puerta alarma persiana", fields.order: "pedido carrito paquete envio",
			fields.code:   "repositorio rama servidor",
			fields.person: "coleg companer contacto", fields.chat: "canal grupo chat",
		}),
	}
	portugueseStems = stems{
		says: addSenses(buildWordTable(map[verb]string{
			sends:    "envi mand respond escrev encaminh avisa avise informa informe diz diga digam lembr pergunt comunic",
			pays:     "paga pague transf compra compre reembols devolv deposit encomend cobra cobr",
			creates:  "cria crie adicion agend marc marqu escrev salv guard anot program prepar organi regist ger abr poe ponha",
			modifies: "alter muda mude atuali actuali mova renome edit corri remarc substitu adi troc fech renov aument poe",
			removes:  "apag apagu exclu elimin remov cancel delet arquiv tira tire limp desmarc anul", books: "reserv marc marqu",
			invites: "convid adicion", shares: "compartilh partilh da-lhe", posts: "publica publique poste",
			controls: "liga ligue desligu deslig ativ desativ bloque desbloque abra abre abri fech permit acend apag", runs: "execut inici instal",
			looks: "leia busc procur encontr mostr list resum verif compar calcul quant ve veja",
		}), func(s sense) string { return s.pt }),
		about: buildWordTable(map[concept]string{
			fields.mail: "mensage correio mail", fields.calendar: "reunia reunio compromiss calendario evento consulta",
			fields.money: "fatura pagamento transferenc dinheiro aluguel renda quota salario",
			fields.file:  "arquivo ficheiro pasta documento", fields.task: "tarefa lembrete", fields.hotel: "hotel quarto",
			fields.travel: "voo viagem comboio bilhete passagem",
			fields.device: "luz luzes aquecimento porta alarme estore", fields.order: "pedido encomenda carrinho",
			fields.code:   "repositorio servidor",
			fields.person: "colega contat contact socio", fields.chat: "canal grupo",
		}),
	}
	italianStems = stems{
		says: addSenses(buildWordTable(map[verb]string{
			sends:    "invia invii mand rispond scriv inoltr avvis informa spedi dill ricord chied comunic",
			pays:     "paga paghi trasfer bonific versa versi compra compri acquist rimbors ordin salda",
			creates:  "crea cree aggiun scriv salv pianific programm organizz fiss annot prepar mett segn registr apri",
			modifies: "modific cambi aggiorn spost rinomin corregg sostitu mett rimand anticip postic aument abbass chiud rinnov",
			removes:  "cancell elimin rimuov annull togli tolg archivi svuot butt disdi", books: "prenot ordin fiss", invites: "invit aggiun mett",
			shares: "condivi dai dagli dalle", posts: "pubblica pubblichi",
			controls: "accend spegn attiv disattiv blocc sblocc apri chiud alz abbass permett",
			runs:     "esegu avvi install lanci",
			looks:    "legg cerc trov mostr elenc riassum controlla controlli verific quant guard confront calcol",
		}), func(s sense) string { return s.it }),
		about: buildWordTable(map[concept]string{
			fields.mail: "messagg posta mail", fields.calendar: "riunion appuntament calendario evento",
			fields.money: "fattur pagament bonifico soldi affitto conto stipendio",
			fields.file:  "documento documenti cartell", fields.task: "compito promemoria", fields.hotel: "hotel albergo camera",
			fields.travel: "volo voli treno biglietto viaggio",
			fields.device: "luce luci riscaldamento porta allarme tapparell", fields.order: "ordine ordini carrello pacco",
			fields.code:   "repository server",
			fields.person: "colleg contatt", fields.chat: "canale gruppo chat",
		}),
	}
	dutchStems = stems{
		says: addSenses(buildWordTable(map[verb]string{
			sends:    "stuur verstuur verzend mail schrijf antwoord beantwoord informeer bericht vertel vraag herinner laat",
			pays:     "betaal overmak boek koop bestel stort maak",
			creates:  "maak voeg schrijf bewaar plan noteer zet organiseer regel spreek leg",
			modifies: "wijzig verander verplaats verzet hernoem bewerk pas voeg vervang corrigeer zet stel sluit verleng verhoog verlaag",
			removes:  "verwijder wis annuleer zeg archiveer haal gooi schrap leeg", books: "boek reserveer bestel", invites: "nodig uitnodig voeg",
			shares: "deel delen geef", posts: "publiceer plaats", controls: "schakel activeer deactiveer blokkeer open sluit doe zet",
			runs:  "start voer installe",
			looks: "lees zoek vind toon bekijk samenvat controleer hoeveel vergelijk kijk",
		}), func(s sense) string { return s.nl }),
		about: buildWordTable(map[concept]string{
			fields.mail: "bericht mail", fields.calendar: "afspra vergader agenda kalender",
			fields.money: "factu rekening betaling overschrijv huur salari",
			fields.file:  "bestand map document", fields.task: "taak taken herinnering", fields.hotel: "hotel kamer",
			fields.travel: "vlucht trein reis ticket",
			fields.device: "licht lamp verwarming deur alarm", fields.order: "bestelling winkelwagen pakket", fields.code: "server",
			fields.person: "collega contact", fields.chat: "kanaal groep chat",
		}),
	}
)
