/** Floor of a load: parses the Bundles, and inserts the bodies into one table of SQLite. Prints the number of resources and milliseconds. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'

const [folder = '', file = ':memory:'] = process.argv.slice(2)
const db = new DatabaseSync(file)
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE body (id INTEGER PRIMARY KEY, body TEXT NOT NULL)')
const insert = db.prepare('INSERT INTO body (body) VALUES (?)')
let resources = 0
const began = performance.now()
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.json(?:\.gz)?$/.test(name))) {
  const { entry = [] } = JSON.parse(textOf(join(folder, name))) as { entry?: { resource: unknown }[] }
  db.exec('BEGIN')
  for (const { resource } of entry) insert.run(JSON.stringify(resource))
  db.exec('COMMIT')
  resources += entry.length
}
console.log(JSON.stringify({ resources, ms: performance.now() - began }))

function textOf(file: string): string {
  const bytes = readFileSync(file)
  return (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
}
