/** Every package that is installed to run has a licence that allows it; exits 1 and names those that do not. */
import { existsSync, readFileSync } from 'node:fs'
import { isAllowed } from './spdx.ts'

const ALLOWED = new Set(
  'MIT MIT-0 ISC Apache-2.0 BSD-2-Clause BSD-3-Clause 0BSD BlueOak-1.0.0 CC0-1.0 Unlicense Python-2.0 CC-BY-4.0'.split(' '),
)

/** Packages whose package.json says it in other words; each was read by hand. */
const READ: Readonly<Record<string, string>> = {
  fhirpath: 'BSD-like licence of the US National Library of Medicine',
  'axe-core': 'MPL-2.0, unchanged, and in tests only',
  'emitter-component': 'MIT, in its readme',
  '@lhncbc/ucum-lhc': 'BSD-like licence of the US National Library of Medicine',
}

type Lock = { readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly license?: string }>> }

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock
const installed = Object.entries(lock.packages).filter(([path]) => path !== '' && existsSync(`${path}/package.json`))
const wrong = installed.flatMap(([path, { license }]) => {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const licence = license ?? licenceIn(path)
  return isAllowed(licence, ALLOWED) || name in READ ? [] : [`${name}: ${licence}`]
})

function licenceIn(path: string): string {
  const { license, licenses } = JSON.parse(readFileSync(`${path}/package.json`, 'utf8')) as {
    license?: string | { type?: string }
    licenses?: { type?: string }[]
  }
  return (typeof license === 'string' ? license : (license?.type ?? licenses?.map(({ type }) => type).join(' OR '))) ?? 'none named'
}

console.log(`${installed.length} packages, ${wrong.length} with a licence to look at`)
for (const line of wrong) console.error(line)
process.exitCode = wrong.length === 0 ? 0 : 1
