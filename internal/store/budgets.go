package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"signoff/internal/domain"
)

// A budget that executions share is an account. If each request to a model locked the row of its account, all executions of a tenant would wait for
// each other. So a replica takes an allotment from the account, and counts it in memory. The reservations and the usage of each execution are a row of its
// own, which only its driver writes. From these rows other replicas compute the rest of the allotment of a dead replica.
//
// A transaction that locks several rows takes allotments first, then reservations, then accounts.

// BudgetAccount is a budget that executions share, such as that of a tenant's day, or of a tree.
type BudgetAccount struct {
	Name  string
	Limit domain.Spending // 0 = no bound
	Until time.Time       // when it expires
}

// AccountOfTree is the name of the account of a tree. It is removed with the root.
func AccountOfTree(root domain.ExecutionID) string { return "tree " + string(root) }

// AllotmentRequest asks an account for an allotment, or for more of it.
type AllotmentRequest struct {
	Account BudgetAccount
	Replica ReplicaID
	Owed    domain.Spending // used beyond the allotment; it is handed out even beyond the limit
	Wanted  domain.Spending
	Own     domain.Spending // already reserved by the caller, which does not wait for itself
}

// Allotted is the result of an [AllotmentRequest].
type Allotted struct {
	Given domain.Spending // often more than Wanted, so that the next requests need not ask; less if less is left
	New   bool            // there was no allotment, or it was reclaimed: then Owed was not handed out
	Left  bool            // something was left before
	Held  bool            // nothing was left, but others hold an unused part
}

// allotmentPart is the divisor of the rest that gives the smallest allotment.
const allotmentPart = 16

// Allot hands out a part of an account. It reclaims the allotments of dead replicas first.
func (s *Store) Allot(ctx context.Context, r AllotmentRequest) (given Allotted, err error) {
	err = s.transact(ctx, "allot a budget", func(tx *sql.Tx) error {
		given = Allotted{}
		reclaimed, err := s.reclaimAllotments(ctx, tx, r.Account, r.Replica)
		if err != nil {
			return err
		}
		if given.New, err = s.lockAllotment(ctx, tx, r); err != nil {
			return err
		}
		if given.New {
			r.Owed = domain.Spending{}
		}
		taken, err := s.chargeAccount(ctx, tx, r.Account, r.Owed.Minus(reclaimed))
		if err != nil {
			return err
		}
		var more domain.Spending
		if more, given.Left = portion(r, taken); !given.Left {
			if given.Held, err = s.budgetIsHeld(ctx, tx, r, taken); err != nil {
				return err
			}
		}
		if _, err := s.chargeAccount(ctx, tx, r.Account, more); err != nil {
			return err
		}
		given.Given = r.Owed.Plus(more)
		return s.chargeAllotment(ctx, tx, r.Account, r.Replica, given.Given)
	})
	return given, err
}

// lockAllotment locks the allotment, and makes an empty one where there is none. It comes before the account also where the allotment is new: two first requests of
// one replica would otherwise take the two rows in different orders.
func (s *Store) lockAllotment(ctx context.Context, tx *sql.Tx, r AllotmentRequest) (isNew bool, err error) {
	for {
		locked, err := affected(tx.ExecContext(ctx, `
			update budget_ledger set until_us = $3 where account = $1 and replica = $2 and execution_id = '' and epoch = 0`,
			r.account(), r.replica(), r.Account.Until.UnixMicro()))
		if err != nil || locked > 0 {
			return false, err
		}
		made, err := affected(tx.ExecContext(ctx, `
			insert into budget_ledger (account, replica, execution_id, epoch, tokens, nanos, reserved_tokens, reserved_nanos, until_us)
			values ($1, $2, '', 0, 0, 0, 0, 0, $3) on conflict (account, replica, execution_id, epoch) do nothing`,
			r.account(), r.replica(), r.Account.Until.UnixMicro()))
		if err != nil || made > 0 {
			return true, err
		}
	}
}

func (r AllotmentRequest) account() string { return text(r.Account.Name) }
func (r AllotmentRequest) replica() string { return text(string(r.Replica)) }

// portion is the amount that an account hands out when taken is already handed out.
func portion(r AllotmentRequest, taken domain.Spending) (given domain.Spending, left bool) {
	part := func(limit, taken, wanted int64) (int64, bool) {
		switch room := limit - taken; {
		case limit == 0:
			return wanted, true
		case room <= 0:
			return 0, false
		case wanted <= 0:
			return 0, true
		default:
			return min(room, max(wanted, room/allotmentPart)), true
		}
	}
	tokens, some := part(r.Account.Limit.Tokens, taken.Tokens, r.Wanted.Tokens)
	nanos, money := part(r.Account.Limit.Nanos, taken.Nanos, r.Wanted.Nanos)
	if !some && r.Wanted.Tokens > 0 || !money && r.Wanted.Nanos > 0 { // the other part alone is of no use
		return domain.Spending{}, false
	}
	return domain.Spending{Tokens: tokens, Nanos: nanos}, some && money
}

// reclaimAllotments ends the allotments of dead replicas, and returns their rest. From then on their reservations are charged to the account. Only an
// allotment that is locked here is counted: another replica may reclaim the same one.
func (s *Store) reclaimAllotments(ctx context.Context, tx *sql.Tx, account BudgetAccount, except ReplicaID) (rest domain.Spending, err error) {
	dead, err := collect(ctx, tx, scanValue[string], `
		select replica from budget_ledger l where account = $1 and replica <> '' and replica <> $2 and execution_id = ''
			and not exists (select 1 from replicas r where r.id = l.replica and r.lease_until_us > now_us())
		order by replica`, text(account.Name), text(string(except)))
	if err != nil {
		return rest, err
	}
	for _, replica := range dead {
		allotted, err := collect(ctx, tx, scanSpending, `
			delete from budget_ledger where account = $1 and replica = $2 and execution_id = '' and epoch = 0 returning tokens, nanos`, text(account.Name), replica)
		if err != nil {
			return rest, err
		}
		if len(allotted) == 0 {
			continue
		}
		charged, err := collect(ctx, tx, scanSpending, `
			update budget_ledger set replica = '' where account = $1 and replica = $2 returning tokens + reserved_tokens, nanos + reserved_nanos`, text(account.Name), replica)
		if err != nil {
			return rest, err
		}
		rest = rest.Plus(allotted[0])
		for _, reservation := range charged {
			rest = rest.Minus(reservation)
		}
	}
	return rest, nil
}

// budgetIsHeld reports whether other callers hold an unused part of a budget of which nothing is left.
func (s *Store) budgetIsHeld(ctx context.Context, tx *sql.Tx, r AllotmentRequest, taken domain.Spending) (bool, error) {
	held, err := one(ctx, tx, scanSpending, `
		select cast(coalesce(sum(case when replica = '' then reserved_tokens when execution_id = '' then tokens else -tokens end), 0) as bigint),
			cast(coalesce(sum(case when replica = '' then reserved_nanos when execution_id = '' then nanos else -nanos end), 0) as bigint)
		from budget_ledger where account = $1`, r.account())
	limit, held := r.Account.Limit, held.Minus(r.Own)
	spent := limit.Tokens > 0 && taken.Tokens >= limit.Tokens && held.Tokens <= 0 || limit.Nanos > 0 && taken.Nanos >= limit.Nanos && held.Nanos <= 0
	return !spent, err
}

// chargeAccount adds to the sum that an account has handed out, and returns the sum. It keeps the row locked.
func (s *Store) chargeAccount(ctx context.Context, tx *sql.Tx, account BudgetAccount, by domain.Spending) (domain.Spending, error) {
	return one(ctx, tx, scanSpending, charge+` returning tokens, nanos`, text(account.Name), "", by.Tokens, by.Nanos, account.Until.UnixMicro())
}

func (s *Store) chargeAllotment(ctx context.Context, tx *sql.Tx, account BudgetAccount, replica ReplicaID, by domain.Spending) error {
	_, err := tx.ExecContext(ctx, charge, text(account.Name), text(string(replica)), by.Tokens, by.Nanos, account.Until.UnixMicro())
	return err
}

const charge = `
	insert into budget_ledger (account, replica, execution_id, epoch, tokens, nanos, reserved_tokens, reserved_nanos, until_us)
	values ($1, $2, '', 0, $3, $4, 0, 0, $5)
	on conflict (account, replica, execution_id, epoch) do update set
		tokens = budget_ledger.tokens + excluded.tokens, nanos = budget_ledger.nanos + excluded.nanos, until_us = excluded.until_us`

func scanSpending(row scanner) (s domain.Spending, err error) {
	return s, row.Scan(&s.Tokens, &s.Nanos)
}

// ReturnAllotment returns an unneeded part of an allotment to its account. A part below zero is usage beyond the allotment. A reclaimed allotment has
// nothing to return.
func (s *Store) ReturnAllotment(ctx context.Context, account BudgetAccount, replica ReplicaID, part domain.Spending) error {
	return s.transact(ctx, "return a part of a budget", func(tx *sql.Tx) error {
		there, err := affected(tx.ExecContext(ctx, `
			update budget_ledger set tokens = tokens - $3, nanos = nanos - $4 where account = $1 and replica = $2 and execution_id = '' and epoch = 0`,
			text(account.Name), text(string(replica)), part.Tokens, part.Nanos))
		if err == nil && there > 0 {
			_, err = s.chargeAccount(ctx, tx, account, domain.Spending{}.Minus(part))
		}
		return err
	})
}

// BudgetLeft reports whether an account still has something to hand out.
func (s *Store) BudgetLeft(ctx context.Context, account BudgetAccount) (bool, error) {
	taken, err := selectFirst(ctx, s, "read a budget", scanSpending, `
		select tokens, nanos from budget_ledger where account = $1 and replica = '' and execution_id = '' and epoch = 0`, text(account.Name))
	_, left := portion(AllotmentRequest{Account: account}, taken)
	return left, err
}

// BudgetReservation is a reservation by the driver of an execution from the allotment of its replica.
type BudgetReservation struct {
	Account   BudgetAccount
	Replica   ReplicaID
	Execution domain.ExecutionID
	Epoch     int64
	Amount    domain.Spending
}

// ErrReclaimed is in the chain of the error of [Store.ReserveBudget] if the replica has lost the allotment, because its lease was over.
var ErrReclaimed = errors.New("the allotment was reclaimed")

// ReserveBudget reserves from an allotment. It is refused as domain.CodeStale if the execution has another driver by now, and if the allotment
// was reclaimed. The statement keeps the allotment from being reclaimed before the reservation can be seen, and locks it for nobody else.
func (s *Store) ReserveBudget(ctx context.Context, r BudgetReservation) error {
	return s.transact(ctx, "reserve from a budget", func(tx *sql.Tx) error {
		reserved, err := affected(tx.ExecContext(ctx, `
			insert into budget_ledger (account, replica, execution_id, epoch, tokens, nanos, reserved_tokens, reserved_nanos, until_us)
			select a.account, a.replica, h.execution_id, h.epoch, 0, 0, $5, $6, a.until_us
			from (select account, replica, until_us from budget_ledger
				where account = $1 and replica = $2 and execution_id = '' and epoch = 0`+s.dialect.share+`) a, execution_heads h
			where h.execution_id = $3 and h.epoch = $4 and h.ended = 0
			on conflict (account, replica, execution_id, epoch) do update set
				reserved_tokens = budget_ledger.reserved_tokens + excluded.reserved_tokens,
				reserved_nanos = budget_ledger.reserved_nanos + excluded.reserved_nanos`,
			text(r.Account.Name), text(string(r.Replica)), text(string(r.Execution)), r.Epoch, r.Amount.Tokens, r.Amount.Nanos))
		if err != nil || reserved > 0 {
			return err
		}
		allotted, err := one(ctx, tx, scanValue[int], `
			select count(*) from budget_ledger where account = $1 and replica = $2 and execution_id = '' and epoch = 0`,
			text(r.Account.Name), text(string(r.Replica)))
		if err == nil && allotted == 0 {
			return domain.Errorf(domain.CodeStale, "The allotment of this replica was reclaimed.").With(ErrReclaimed)
		}
		if err == nil {
			err = errNotDriven
		}
		return err
	})
}

// SettleBudget ends a reservation, and adds the usage. It also does so for a driver that has lost its execution, because the usage is real.
func (s *Store) SettleBudget(ctx context.Context, r BudgetReservation, used domain.Spending) error {
	return s.transact(ctx, "settle with a budget", func(tx *sql.Tx) error {
		settled, err := affected(tx.ExecContext(ctx, settleReservation,
			text(r.Account.Name), text(string(r.Replica)), text(string(r.Execution)), r.Epoch, r.Amount.Tokens, r.Amount.Nanos, used.Tokens, used.Nanos))
		if err != nil || settled > 0 {
			return err
		}
		return s.changeCharged(ctx, tx, r.Account, r.Execution, r.Epoch, func() error {
			_, err := tx.ExecContext(ctx, settleReservation,
				text(r.Account.Name), "", text(string(r.Execution)), r.Epoch, r.Amount.Tokens, r.Amount.Nanos, used.Tokens, used.Nanos)
			return err
		})
	})
}

// settleReservation leaves no reservation below zero: the next driver may have released it.
const settleReservation = `
	update budget_ledger set tokens = tokens + $7, nanos = nanos + $8,
		reserved_tokens = case when reserved_tokens > $5 then reserved_tokens - $5 else 0 end,
		reserved_nanos = case when reserved_nanos > $6 then reserved_nanos - $6 else 0 end
	where account = $1 and replica = $2 and execution_id = $3 and epoch = $4`

// changeCharged changes a reservation whose allotment was reclaimed, and with it the sum that the account has handed out. Without one it does nothing.
func (s *Store) changeCharged(ctx context.Context, tx *sql.Tx, account BudgetAccount, id domain.ExecutionID, epoch int64, change func() error) error {
	charged := func() (domain.Spending, error) {
		return one(ctx, tx, scanSpending, `
			select tokens + reserved_tokens, nanos + reserved_nanos from budget_ledger
			where account = $1 and replica = '' and execution_id = $2 and epoch = $3`+s.dialect.lock, text(account.Name), text(string(id)), epoch)
	}
	before, err := charged()
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := charged()
	if err == nil {
		_, err = s.chargeAccount(ctx, tx, account, after.Minus(before))
	}
	return err
}

// ReleaseBudgets ends the reservations of earlier drivers of an execution. The usage of their requests is unknown.
func (s *Store) ReleaseBudgets(ctx context.Context, id domain.ExecutionID, epoch int64) error {
	return s.transact(ctx, "release the budgets of earlier drivers", func(tx *sql.Tx) error {
		type left struct {
			account, replica string
			epoch, until     int64
		}
		reservations, err := collect(ctx, tx, func(row scanner) (l left, err error) {
			return l, row.Scan(&l.account, &l.replica, &l.epoch, &l.until)
		}, `select account, replica, epoch, until_us from budget_ledger
			where execution_id = $1 and epoch < $2 and (reserved_tokens > 0 or reserved_nanos > 0)
			order by account, replica, epoch`+s.dialect.lock, text(string(id)), epoch)
		if err != nil {
			return err
		}
		for _, l := range reservations {
			release := func() error {
				_, err := tx.ExecContext(ctx, `
					update budget_ledger set reserved_tokens = 0, reserved_nanos = 0
					where account = $1 and replica = $2 and execution_id = $3 and epoch = $4`, l.account, l.replica, text(string(id)), l.epoch)
				return err
			}
			if l.replica == "" {
				account := BudgetAccount{Name: l.account, Until: timeOf(l.until)}
				err = s.changeCharged(ctx, tx, account, id, l.epoch, release)
			} else {
				err = release()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ForgetBudgets removes up to limit rows of accounts that expired longer than age ago, and returns their number.
func (s *Store) ForgetBudgets(ctx context.Context, age time.Duration, limit int) (int, error) {
	gone, err := s.exec(ctx, "forget budgets", `
		delete from budget_ledger where (account, replica, execution_id, epoch) in (
			select account, replica, execution_id, epoch from budget_ledger where until_us < (select now_us()) - $1
			order by until_us limit $2`+s.dialect.skipLocked+`)`, age.Microseconds(), limit)
	return int(gone), err
}
