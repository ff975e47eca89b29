package office

default outcome := "deny"

outcome := "deny" if {
	some _ in denies
} else := "ask" if {
	some _ in asks
} else := "allow" if {
	some _ in allows
}

allows contains "email" if startswith(input.skill, "email.")

allows contains "tasks" if startswith(input.skill, "tasks.")

allows contains "fs" if startswith(input.skill, "fs.")

allows contains "pay" if startswith(input.skill, "pay.")

asks contains "outside" if {
	input.skill == "email.send"
	not endswith(input.args.to, "@example.com")
}

denies contains "guests" if {
	input.skill == "tasks.delete"
	startswith(input.user, "guest-")
}

denies contains "workspace" if {
	startswith(input.skill, "fs.")
	not startswith(input.args.path, "/workspace/")
}

asks contains "amount" if {
	input.skill == "pay.send"
	input.args.amount > 100
}

denies contains "too much" if {
	input.skill == "pay.send"
	input.args.amount > 1000
}
