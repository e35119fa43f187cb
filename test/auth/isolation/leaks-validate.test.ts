/**
 * $validate with a mode, by everybody: it says of a write what the oracle says would come of it, nothing of what is hidden, and leaves everything
 * as it is.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { caseCountOf, firstSeed, isFullRun } from '../../fixtures/long-runs.ts'
import { openSite, type RequestContent, type Site, type TestResponse } from '../site.ts'
import { LeakCheck } from './leak-check.ts'
import type { Json } from './oracle.ts'
import { Population, TENANTS } from './population.ts'
import { CALLERS, nameOfCaller } from './whos.ts'
import { CELLS, type CellKind, RULES, type WriteCase, type WriteRequest } from './writes.ts'
import { findFinalErrors, prepareWrites, writeCaseOf } from './written.ts'

const EACH = caseCountOf(1, 4)
const WHO = isFullRun ? CALLERS : CALLERS.filter((_, i) => (i + firstSeed()) % 2 === 0)

/** What is written the same way; their letters are those of the mode. */
const MODES: Readonly<Partial<Record<CellKind, string>>> = {
  create: 'create',
  'create if there is none': 'create',
  update: 'update',
  'update if it is that': 'update',
  'update if there is none': 'update',
  delete: 'delete',
}
const KINDS = CELLS.filter(({ kind }) => MODES[kind] !== undefined)

let site: Site
let population: Population
let asked: readonly WriteCase[]

beforeAll(async () => {
  site = await openSite()
  population = new Population()
  asked = WHO.flatMap((who, i) =>
    Array.from({ length: EACH }, (_, j) =>
      writeCaseOf(population, who, KINDS[((i * EACH + j) * 397 + firstSeed()) % KINDS.length]!, `${i}-${j}`),
    ),
  )
  await prepareWrites({ ask: site.ask, population }, asked)
})
afterAll(() => site.close())

/** Its code. */
const errorIn = ({ body }: TestResponse): string | undefined => body.issue.find(({ severity }: Json) => severity === 'error')?.code

/** 412, 409 and the like are issues: it is no error to ask. */
function wrongOf(each: WriteCase, answer: TestResponse, sent: RequestContent): string | undefined {
  const { status } = RULES[each.cell.kind].outcome(each)
  const isRefused = errorIn(answer) !== undefined
  const expected = status === 403 ? [403, true] : [200, status >= 400]
  const leaks = new LeakCheck(population).leaksIn(answer, each.who, `${JSON.stringify(sent)} ${each.id}`)
  if (answer.status === expected[0] && isRefused === expected[1] && leaks.length === 0) return undefined
  return `${nameOfCaller(each.who)}: ${JSON.stringify(each.cell)}: ${answer.status}, not ${expected}; ${leaks}; ${answer.text.slice(0, 300)}`
}

it(
  '$validate predicts the outcome of the write and discloses nothing hidden',
  async () => {
    const wrong: string[] = []
    const met = new Map<string, number>()
    for (const each of asked) {
      const { url, resource, headers = {} } = RULES[each.cell.kind].sent(each) as WriteRequest
      const sent = { headers, ...(resource === undefined ? {} : { body: resource }) }
      const answer = await site.ask(each.who, 'POST', `/${url}/$validate?mode=${MODES[each.cell.kind]}`, sent)
      const line = wrongOf(each, answer, sent)
      if (line !== undefined) wrong.push(line)
      const kind = `${answer.status} ${errorIn(answer) ?? 'accepted'}`
      met.set(kind, (met.get(kind) ?? 0) + 1)
    }
    expect(wrong.slice(0, 15)).toEqual([])
    for (const kind of ['200 accepted', '200 conflict', '403 forbidden']) expect(met.get(kind)).toBeGreaterThan(5)
  },
  5 * 60_000,
)

it('$apply-fhirpath evaluates only the resource that is sent', async () => {
  for (const who of WHO.filter((_, i) => i % 7 === 0)) {
    const resource = { resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: { reference: 'Patient/b.id' } }
    const parameter = [
      { name: 'fhirPath', valueString: 'subject | subject.resolve()' },
      { name: 'resource', resource },
    ]
    const { status, body } = await site.ask(who, 'POST', '/$apply-fhirpath', { body: { resourceType: 'Parameters', parameter } })
    expect([status, body.parameter[0].valueString]).toEqual([200, '[{"reference":"Patient/b.id"}]'])
  }
})

it.each(TENANTS)('$validate writes nothing in %s', async (tenant) => {
  expect(await findFinalErrors({ ask: site.ask, population }, tenant)).toEqual([])
})
