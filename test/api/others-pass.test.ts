/** Nobody has the server alone: while one client's long request is worked on others are answered, and no answer grows without a bound. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { validateResource } from '../../lambdas/http/steps/validate-resource.ts'
import { mapInOrder, mapInSlices, yieldIfDue } from '../../lambdas/interactions/time-slices.ts'
import { structureIssuesOf } from '../../lambdas/interactions/validation/structure-findings.ts'
import { patient } from '../fixtures/resources.ts'
import { countTurnsDuring, waitTurns } from '../fixtures/turns.ts'
import { type Tree, withServer } from './server.ts'

const { get, put, post } = withServer()

const bundle = (type: string, count: number, each: (i: number) => object) => ({
  resourceType: 'Bundle',
  type,
  entry: Array.from({ length: count }, (_, i) => each(i)),
})
const reading = (url: string) => ({ request: { method: 'GET', url } })

beforeAll(async () => {
  await put('/Patient/p', patient('p'))
  await put('/Basic/heavy', { resourceType: 'Basic', id: 'heavy', code: { text: 'x'.repeat(400_000) } })
})

describe('work in slices', () => {
  /** Time passes only while something works. */
  let now = 0
  beforeEach(async () => {
    // A slice that an earlier test began ends first.
    await waitTurns(3)
    jest.spyOn(performance, 'now').mockImplementation(() => now)
  })
  afterEach(() => void jest.restoreAllMocks())

  /** Uses up a slice. */
  const work = (): void => {
    now += 25
  }

  it('yields when a slice is used up, and keeps the order', async () => {
    const items = Array.from({ length: 10 }, (_, i) => i)
    for (const sliced of [mapInSlices, mapInOrder]) {
      let made: readonly number[] = []
      const turns = await countTurnsDuring(async () => {
        made = await sliced(items, (i: number) => {
          work()
          return i * 2
        })
      })
      expect(made).toEqual(items.map((i) => i * 2))
      expect(turns).toBeGreaterThanOrEqual(8)
    }
  })

  it('continues at once while there is time', async () => {
    expect(yieldIfDue()).toBeUndefined()
    const made = mapInOrder([1, 2, 3], (i) => i)
    expect(await countTurnsDuring(() => made)).toBeLessThanOrEqual(1)
  })

  it('shares the slices between concurrent tasks', async () => {
    const items = Array.from({ length: 8 }, (_, i) => i).values()
    const turns = await countTurnsDuring(() => Promise.all([1, 2, 3, 4].map(() => mapInOrder(items, work))))
    expect(turns).toBeGreaterThanOrEqual(6)
  })

  it('serves waiting tasks in turn', async () => {
    const order: string[] = []
    const working = (name: string, count: number) => mapInOrder(Array(count).keys(), () => order.push(name) && work())
    await Promise.all([working('long', 6), working('short', 2), working('other', 2)])
    expect(order.filter((name) => name !== 'long')).toEqual(['short', 'other', 'short', 'other'])
  })

  it('rejects with the first failure, without unhandled rejections', async () => {
    const rejected: unknown[] = []
    const listen = (reason: unknown) => void rejected.push(reason)
    process.on('unhandledRejection', listen)
    const made = mapInSlices([1, 2], (i) => {
      work()
      return Promise.reject(new Error(`${i}`))
    })
    await expect(made.then((all) => Promise.all(all))).rejects.toThrow('1')
    await waitTurns(10)
    process.off('unhandledRejection', listen)
    expect(rejected).toEqual([])
  })
})

describe('validation', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => ({ linkId: `l${i}`, type: 'string' }))
  const questionnaire = (count: number) => ({ resourceType: 'Questionnaire', id: 'q', status: 'draft', item: many(count) })
  const step = (resource: object): unknown => validateResource.before!({ event: { fhir: { resource } } } as never)

  it('yields before the rules of a large resource', async () => {
    const turns = await countTurnsDuring(async () => expect(await structureIssuesOf(questionnaire(3_000))).toEqual([]))
    expect(turns).toBeGreaterThanOrEqual(3)
    expect(step(questionnaire(3_000))).toBeInstanceOf(Promise)
  })

  it('does not yield for a small resource', () =>
    expect([structureIssuesOf(questionnaire(10)), step(questionnaire(10))]).toEqual([[], undefined]))
})

it('at most 32 tasks wait at once, and all complete', async () => {
  let [underWay, most] = [0, 0]
  const made = await mapInSlices(
    Array.from({ length: 200 }, (_, i) => i),
    async (i) => {
      most = Math.max(most, ++underWay)
      await new Promise((resolve) => setImmediate(resolve))
      underWay--
      return i
    },
  )
  expect([most, (await Promise.all(made)).length]).toEqual([32, 200])
})

describe('the responses to a Bundle', () => {
  const statuses = ({ body }: Tree): string[] => [...new Set<string>(body.entry.map(({ response }: Tree) => response.status))].sort()

  it.each(['batch', 'transaction'])('are limited to 50 MB for a %s', async (type) => {
    const answer = await post(
      '/',
      bundle(type, 200, () => reading('Basic/heavy')),
    )
    expect([answer.status, statuses(answer)]).toEqual([200, ['200 OK', '403 Forbidden']])
    expect(answer.text.length).toBeGreaterThan(50_000_000)
    expect(answer.text.length).toBeLessThan(70_000_000)
    const refused = answer.body.entry.at(-1).response.outcome.issue[0]
    expect([refused.code, refused.expression]).toEqual(['too-costly', ['Bundle.entry[199]']])
  })

  it('count written resources only if they are returned', async () => {
    const written = await post(
      '/',
      bundle('batch', 100, (i) => ({
        resource: patient(`w${i}`, { text: { status: 'generated', div: `<div>${'x'.repeat(10_000)}</div>` } }),
        request: { method: 'PUT', url: `Patient/w${i}` },
      })),
    )
    expect(statuses(written)).toEqual(['201 Created'])
    const searches = await post(
      '/',
      bundle('batch', 100, () => reading('Patient?_id=p')),
    )
    expect([statuses(searches), searches.body.entry[0].resource.entry[0].resource.id]).toEqual([['200 OK'], 'p'])
  })

  it('let other requests finish meanwhile', async () => {
    const finished: string[] = []
    const long = post(
      '/',
      bundle('batch', 400, () => reading('Patient?_count=100')),
    ).then(() => finished.push('batch'))
    const reads = Array<string>(10).fill('read')
    for (const read of reads) await get('/Patient/p').then(() => finished.push(read))
    await long
    expect(finished).toEqual([...reads, 'batch'])
  })
})
