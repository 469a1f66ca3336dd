package approvals

import "slices"

// Outside is the policy for calls of an external agent that runs in no environment. Rules of the request hold for them, too. Of the
// remembered rules, those that allow hold only if they name no environment.
func (p Policy) Outside() Policy {
	p.Environment = nil
	p.written = slices.Clone(p.written)
	for i := range p.written {
		p.written[i].Matcher.Environment, p.written[i].Matcher.EnvironmentDigest = "", ""
	}
	return p
}
