/** Generates the files of a package that is committed, from its archive: `node search-mappings/generate-package.ts FILE.tgz`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageOf } from '../lambdas/fhir/profile/definitions/package-files.ts'
import { archived } from './generate/archive.ts'
import { filesOf, keysOfR4 } from './generate/packages.ts'
import { withRules } from './generate/rules.ts'
import { searchesOf } from './generate/searches.ts'

const root = join(import.meta.dirname, '..')
const archive = await archived(process.argv[2]!)
const { all } = keysOfR4()
const { made, leftOut } = packageOf(archive, archive.definitions, (key) => all.has(key))
if (leftOut.length > 0) throw new Error(JSON.stringify(leftOut))
for (const [path, text] of [...filesOf(withRules(made)), ...searchesOf(archive)]) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}
