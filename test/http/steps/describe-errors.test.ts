/** What a client is told when the machine cannot do what it asks, and what a person is told. */
import { describe as about, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { OpenSearchError } from '../../../lambdas/adapters/opensearch/cluster.ts'
import { fhirError } from '../../../lambdas/fhir/outcome.ts'
import { entryRunner, NO_TIME_LIMIT } from '../../../lambdas/http/entry-runner.ts'
import { describeError } from '../../../lambdas/http/steps/describe-errors.ts'
import { batch } from '../../../lambdas/interactions/bundle/batch.ts'
import { EntryResponses } from '../../../lambdas/interactions/bundle/entry-responses.ts'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { type FaultKind, indexBehind, MachineFault, notApplied } from '../../../lambdas/ports/faults.ts'
import { stepsWith } from '../front.ts'

const SECRET = 'Erika Mustermann'

const ERRORS: Readonly<Record<FaultKind, MachineFault>> = {
  overloaded: new MachineFault('overloaded', SECRET),
  refused: new MachineFault('refused', SECRET),
  'too-costly': new MachineFault('too-costly', SECRET),
  'index-behind': indexBehind(),
  'writes-hidden': new MachineFault('writes-hidden', SECRET),
  'too-many-groups': new MachineFault('too-many-groups', SECRET),
  'not-recorded': new MachineFault('not-recorded', SECRET),
  'not-applied': notApplied([], new Error(SECRET)),
  failed: new OpenSearchError(500, SECRET, SECRET),
  unavailable: new OpenSearchError(503, SECRET, SECRET),
  'disk-full': new MachineFault('disk-full', SECRET),
  'store-damaged': new MachineFault('store-damaged', SECRET),
  'index-damaged': new MachineFault('index-damaged', SECRET),
  'index-ahead': new MachineFault('index-ahead', SECRET),
  'index-outdated': new MachineFault('index-outdated', SECRET),
  'clock-jumped': new MachineFault('clock-jumped', SECRET),
  'writes-stopped': new MachineFault('writes-stopped', SECRET),
  'timed-out': new MachineFault('timed-out', SECRET),
  'not-begun': new MachineFault('not-begun', SECRET),
}

type Told = { readonly severity: string; readonly code: string; readonly details: { readonly text: string } }

const described = (error: unknown) => {
  const reported: unknown[] = []
  const { status, headers, body } = describeError(error, 'id-1', (...told) => void reported.push(told))
  const { severity, code, details } = (body as unknown as { issue: Told[] }).issue[0]!
  return { status, retryAfter: headers?.['retry-after'], severity, code, text: details.text, reported }
}

about('a machine fault', () => {
  it.each([
    ['overloaded', 503, '1', 'throttled', /nothing was done/],
    ['refused', 503, '1', 'throttled', /nothing was done/],
    ['too-costly', 503, '5', 'too-costly', /than it may \(FHIR_SEARCH_BUDGET\): ask for less/],
    ['index-behind', 503, '1', 'throttled', /waiting for the search index to catch up\. Nothing was changed; try again, .* does not wait$/],
    ['writes-hidden', 503, '60', 'throttled', /histories with _since and conditional interactions would miss some/i],
    ['clock-jumped', 503, '60', 'exception', /nothing is written/],
    ['index-outdated', 503, '60', 'incomplete', /being made again.*nothing was done/],
    ['writes-stopped', 503, '300', 'throttled', /stopped all writes \(FHIR_WRITES\).* nothing was written/],
    ['not-begun', 503, '1', 'throttled', /nothing was done for this one. Send it again/],
    ['too-many-groups', 403, undefined, 'too-costly', /65,535 groups/],
  ] as const)('is explained to the client only, without content: %s', (fault, status, retryAfter, code, text) => {
    const { text: told, ...answer } = described(ERRORS[fault])
    expect(answer).toEqual({ status, retryAfter, severity: 'error', code, reported: [] })
    expect(told).toMatch(text)
    expect(told).not.toContain(SECRET)
  })
  it.each([
    ['not-applied', 'The server failed. Request id: id-1'],
    ['failed', 'The server failed. Request id: id-1'],
    ['store-damaged', 'The store is damaged where this is kept. Request id: id-1'],
    ['index-damaged', 'The index is damaged where this is kept. Request id: id-1'],
  ] as const)('is reported to the operator, and to the client by request id: %s', (fault, text) => {
    const error = ERRORS[fault]
    const reported = [[error, 'id-1']]
    expect(described(error)).toEqual({ status: 500, retryAfter: undefined, severity: 'fatal', code: 'exception', text, reported })
  })
  it.each([undefined, 408, 502, 503, 504])('is reported to operator and client: unavailable (%s)', (status) => {
    const error = new OpenSearchError(status, SECRET, SECRET)
    const { text, ...answer } = described(error)
    expect(answer).toEqual({ status: 503, retryAfter: '5', severity: 'error', code: 'no-store', reported: [[error, 'id-1']] })
    expect(text).toMatch(/does not answer: nothing was done/)
  })
  it('is reported to operator and client: disk-full', () => {
    const { text, ...answer } = described(ERRORS['disk-full'])
    const reported = [[ERRORS['disk-full'], 'id-1']]
    expect(answer).toEqual({ status: 503, retryAfter: '60', severity: 'error', code: 'no-store', reported })
    expect(text).toMatch(/disk of the server is full. Nothing was changed/)
  })
  it('is reported to both as timed-out, with the possibility of a completed write', () => {
    const { text, ...answer } = described(ERRORS['timed-out'])
    const reported = [[ERRORS['timed-out'], 'id-1']]
    expect(answer).toEqual({ status: 504, retryAfter: '5', severity: 'error', code: 'timeout', reported })
    expect(text).toMatch(/may have been done/)
  })
  it('carries its kind', () => {
    for (const [fault, error] of Object.entries(ERRORS)) expect([error instanceof MachineFault, error.fault]).toEqual([true, fault])
  })
})

it.each([new TypeError(SECRET), SECRET, undefined])('an unforeseen error is a 500 without details: %p', (thrown) => {
  expect(described(thrown)).toMatchObject({ status: 500, text: 'The server failed. Request id: id-1', reported: [[thrown, 'id-1']] })
})

it('an invalid request is described as it is', () => {
  expect(described(fhirError(410, 'not-found', 'gone'))).toMatchObject({ status: 410, code: 'not-found', text: 'gone', reported: [] })
})

about('a batch', () => {
  const clock = { now: () => 0, newId: () => 'id' }
  const steps = stepsWith()
  const outer = {
    tenant: 'default',
    access: WHOLE_ACCESS,
    baseUrl: 'http://x',
    reading: {},
    preferences: {},
    requestId: 'id-1',
  } as unknown as FhirRequest
  const answers = async (thrown: unknown) => {
    const reported: unknown[] = []
    const interactions = { read: async () => ({ status: 200 }), 'search-type': () => Promise.reject(thrown) }
    const perform = entryRunner(interactions, steps, (...told) => void reported.push(told), NO_TIME_LIMIT)
    const urls = ['Patient/1', 'Patient?name=a', 'Patient/2']
    const entries = urls.map((url, index) => ({ index, method: 'GET' as const, url, headers: {} }))
    const answers = new EntryResponses(outer, clock)
    await batch(perform)(entries, outer, answers)
    const responses = answers.entries.map(({ more }) => (more as { response: { status: string; outcome?: { issue: unknown[] } } }).response)
    return { statuses: responses.map(({ status }) => status), issues: responses[1]!.outcome!.issue, reported }
  }
  it.each(['overloaded', 'refused', 'too-costly', 'index-behind', 'clock-jumped'] as const)(
    'processes the entries that are not %s',
    async (fault) => {
      const { statuses, issues, reported } = await answers(ERRORS[fault])
      expect(statuses).toEqual(['200 OK', '503 Service Unavailable', '200 OK'])
      expect(issues).toEqual([expect.objectContaining({ severity: 'error', expression: ['Bundle.entry[1]'] })])
      expect(reported).toEqual([])
    },
  )
  it.each([
    ['a damaged store', ERRORS['store-damaged'], 'The store is damaged where this is kept. Request id: id-1'],
    ['an unforeseen error', new TypeError(SECRET), 'The server failed. Request id: id-1'],
  ])('processes the other entries beside %s, which is reported once', async (_, error, text) => {
    const { statuses, issues, reported } = await answers(error)
    expect(statuses).toEqual(['200 OK', '500 Internal Server Error', '200 OK'])
    expect(issues).toEqual([{ severity: 'fatal', code: 'exception', details: { text }, expression: ['Bundle.entry[1]'] }])
    expect(reported).toEqual([[error, 'id-1']])
  })
})

it('includes Retry-After and the number of versions left in the 503 of an index that is behind', () => {
  const { status, headers, body } = describeError(indexBehind({ retryAfter: 17, versions: 12_345 }), 'r1', () => undefined)
  expect([status, headers]).toEqual([503, { 'retry-after': '17' }])
  expect(JSON.stringify(body)).toContain('12,345 versions are not indexed yet')
})
