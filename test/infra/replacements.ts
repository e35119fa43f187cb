/**
 * Run as a process of its own: what CloudFormation does to what lasts, and to the addresses that clients know, when what is deployed with some
 * settings is deployed with others. Prints by name of the change each of them that is not left, or changed in place. See replacements.test.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { replaced } from '../../lib/replaced.ts'
import type { Settings } from '../../lib/settings.ts'
import type { Tree } from './assembly.ts'
import { stacksOf, templatesOf } from './made.ts'

type Change = { readonly from: Partial<Settings>; readonly to: Partial<Settings> }

const changes = JSON.parse(process.argv[2]!) as Readonly<Record<string, Change>>
const outdir = mkdtempSync(join(tmpdir(), 'fhir-infra-'))
const CONTROL = 'control'

try {
  const known = new Map<string, ReturnType<typeof templatesOf>>()
  const templates = (settings: Partial<Settings>) => {
    const key = JSON.stringify(settings)
    if (!known.has(key)) known.set(key, templatesOf(stacksOf(join(outdir, String(known.size)), settings)))
    return known.get(key)!
  }
  const made = Object.entries(changes).map(([name, { from, to }]) => {
    const [before, after] = [templates(from), templates(to)]
    return [name, [...replaced(before.data, after.data), ...replaced(before.service, after.service)]]
  })
  const { data } = templates({})
  process.stdout.write(JSON.stringify({ ...Object.fromEntries(made), [CONTROL]: replaced(data, withOtherKeys(data)) }))
} finally {
  rmSync(outdir, { recursive: true })
}

/** What is known to replace: both tables with another name of their keys. */
function withOtherKeys(template: Tree): Tree {
  const changed: Tree = structuredClone(template)
  for (const { Type, Properties } of Object.values<Tree>(changed.Resources))
    if (Type === 'AWS::DynamoDB::GlobalTable') Properties.KeySchema[0].AttributeName = 'other'
  return changed
}
