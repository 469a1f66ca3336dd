package store

import "github.com/jackc/pgx/v5/pgconn"

// Password is what the database is opened with, for who masks it; empty where there is none. It is read by the driver's own
// rules: a URL may have it in two places, `host=… password='…'` is another form of the same, and both may leave it to a file.
func (c Config) Password() string {
	if c.DatabaseURL == "" {
		return ""
	}
	settings, err := pgconn.ParseConfig(c.DatabaseURL)
	if err != nil { // then nothing is opened with it, and Open says nothing of it either
		return ""
	}
	return settings.Password
}
