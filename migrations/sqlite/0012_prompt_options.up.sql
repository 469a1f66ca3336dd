-- Options of an external agent that a prompt sets, as json: an object from ids to values. Null: it sets none. A binary of version 11 writes
-- null, and drives such a prompt without its options.
alter table prompts add column options text;
