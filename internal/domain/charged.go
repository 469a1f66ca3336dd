package domain

// Charged says who pays for an execution and for whom it works, as the client has put it into the metadata. It is carried into the reports of usage and
// into the audit, so that who bills by them needs no other list.
type Charged struct {
	ChargeTarget string `json:"chargeTarget,omitempty"`
	Username     string `json:"username,omitempty"`
}

// Charged reads the two keys of the metadata.
func (r Request) Charged() Charged {
	return Charged{ChargeTarget: r.Metadata["chargeTarget"], Username: r.Metadata["username"]}
}
