/** Generates the cases and has them judged: `node test/judge/write.ts [US-CORE.tgz]`. Needs Maven and a JDK. */
import { writeFileSync } from 'node:fs'
import { fileOf, resourceOf, SIDES } from './cases.ts'
import { casesOf } from './generate/cases.ts'
import { seeds } from './generate/seeds.ts'
import { runHapi } from './hapi.ts'
import { judgedByUsCore, usCoreCases } from './us-core-cases.ts'

const write = (name: string, rows: readonly unknown[]): void =>
  writeFileSync(fileOf(name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))

async function writeBase(): Promise<void> {
  const all = seeds()
  const cases = casesOf(all)
  const requests = cases.flatMap((each) => SIDES.map((side) => ({ text: JSON.stringify(resourceOf(all, each, side)) })))
  const verdicts = await runHapi(requests, { folder: '.', names: [] })
  write(
    'base',
    cases.map((each, i) => ({ ...each, verdicts: { break: verdicts[2 * i]!, neighbour: verdicts[2 * i + 1]! } })),
  )
  write(
    'base-seeds',
    [...all].map(([seed, resource]) => ({ seed, resource })),
  )
}

const [archive] = process.argv.slice(2)
if (archive === undefined) await writeBase()
else write('us-core', await judgedByUsCore(await usCoreCases(archive), archive))
