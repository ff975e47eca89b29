CREATE TABLE IF NOT EXISTS experts (name TEXT PRIMARY KEY, expertise TEXT NOT NULL, topic TEXT NOT NULL, day_rate INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS documents (id TEXT PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS proposals (
  id INTEGER PRIMARY KEY, owner TEXT NOT NULL, intent TEXT NOT NULL UNIQUE, topic TEXT NOT NULL, text TEXT NOT NULL) STRICT;
INSERT OR IGNORE INTO experts VALUES
  ('Ada Brandt', 'security', 'solar_roofs', 90000),
  ('Ben Okafor', 'security', 'payments', 120000),
  ('Chiara Neri', 'machine_learning', 'solar_roofs', 150000),
  ('Dmitri Volkov', 'supply_chain', 'harbours', 80000),
  ('Eva Lindqvist', 'law', 'payments', 200000);
INSERT OR IGNORE INTO documents VALUES
  ('doc_harbour', 'ann', 'Harbour report', 'The harbour was closed for three days. Containers waited outside of the harbour. '
    || 'Two ships turned back. The costs are not known yet.'),
  ('doc_roofs', 'ann', 'Roofs', 'Solar roofs pay off after nine years. Most roofs in the town face south.'),
  ('doc_salaries', 'bob', 'Salaries', 'These numbers are for bob alone.');
