/** Cost of a match on AWS, and of the export of the members that it found: the figures of lib/docs/cost.md. */
import { readFileSync } from 'node:fs'
import { afterAll, expect, it } from '@jest/globals'
import type { DynamoEngine } from '../engines/dynoxide.ts'
import type { ConsumedUnits } from '../fixtures/dynamodb/capacity.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'
import { caseCountOf } from '../fixtures/long-runs.ts'
import { exportDollars, MatchWorld, matchDollars } from './match-cost.ts'

await runOnDynamo(suite)

function suite(engine: DynamoEngine): void {
  afterAll(() => engine.stop())

  it('The page of costs states the units and dollars of a match, and of its export', async () => {
    const members = caseCountOf(400, 2_000)
    const world = await MatchWorld.open(engine, members)
    const each = ({ read, write, ...requests }: ConsumedUnits & { readonly puts: number; readonly searches: number }) => {
      // Both are few beside the units of the members.
      expect([requests.puts <= 15, requests.searches <= members / 30]).toEqual([true, true])
      return { read: Math.round(read / members), write: Math.round(write / members) }
    }
    const [matched, exported] = [each(await world.match('m', members)), each(await world.export('m'))]
    for (const type of ['Patient', 'Coverage', 'ExplanationOfBenefit'])
      expect([type, await world.lines('export-m', type)]).toEqual([type, members])

    const page = readFileSync('lib/docs/cost.md', 'utf8')
    expect(page).toContain(`| match | ${matched.read} | ${matched.write} |\n`)
    expect(page).toContain(`| export of a Patient, a Coverage and a claim | ${exported.read} | ${exported.write} |\n`)
    const [, match, files] =
      /A match that finds all of its 2,000 members costs \$(\d\.\d+), and the export of their 6,000\s+resources \$(\d\.\d+)/.exec(page)!
    expect([match, files]).toEqual([matchDollars(matched, 2_000).toFixed(3), exportDollars(exported, 2_000).toFixed(3)])
  }, 300_000)
}
