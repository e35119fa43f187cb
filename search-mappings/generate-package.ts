/** Generates the committed files of a package from its archive: `node search-mappings/generate-package.ts FILE.tgz`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildPackage } from '../lambdas/fhir/profile/definitions/package-files.ts'
import { readDefinitionArchive } from './generate/archive.ts'
import { guideFilesOf, r4ConstraintKeysOf } from './generate/packages.ts'
import { withRules } from './generate/rules.ts'
import { generateSearches } from './generate/searches.ts'

const root = join(import.meta.dirname, '..')
const archive = await readDefinitionArchive(process.argv[2]!)
const { all } = r4ConstraintKeysOf()
const { content, leftOut } = buildPackage(archive, archive.definitions, (key) => all.has(key))
if (leftOut.length > 0) throw new Error(JSON.stringify(leftOut))
for (const [path, text] of [...guideFilesOf(withRules(content)), ...generateSearches(archive)]) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}
