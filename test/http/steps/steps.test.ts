/** What single steps make of a request before an interaction gets it, and of its answer: the rare cases. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { limitBody } from '../../../lambdas/http/steps/limit-body.ts'
import { shapeBody } from '../../../lambdas/http/steps/shape-body.ts'
import type { FhirRequest, FhirResponse } from '../../../lambdas/interactions/interaction.ts'
import { countTurnsDuring } from '../../fixtures/turns.ts'
import { patientTextOf, startTestServer, type TestServer } from '../front.ts'

const LIMIT = 1_000
const WARNINGS = {
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'warning', code: 'not-supported', details: { text: 'There is no parameter x' } }],
}

let front: TestServer
let reached: FhirRequest | undefined
let answer: FhirResponse = { status: 200 }

beforeAll(async () => {
  front = await startTestServer(
    async (request) => {
      reached = request
      return answer
    },
    { maxBody: LIMIT },
  )
})
afterAll(() => front.close())

async function send(method: string, path: string, headers: Record<string, string> = {}, body?: string) {
  reached = undefined
  const response = await fetch(`http://127.0.0.1:${front.port}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}
const put = (body: string, type = 'application/fhir+json') => send('PUT', '/Patient/1', { 'content-type': type }, body)

describe('a raw Binary', () => {
  it.each(['/Binary/1', '/Binary/1/_history/1'])('is returned by %s to a client that names its type', async (path) => {
    expect((await send('GET', path, { accept: 'image/png' })).status).toBe(200)
    expect(reached?.rawAccept).toEqual([{ type: 'image/png', quality: 1 }])
  })
  it.each([
    ['/Binary/1', 'application/fhir+json, image/png'],
    ['/Binary/1/_history/1', '*/*'],
  ])('is not returned by %s for %s', async (path, accept) => {
    expect((await send('GET', path, { accept })).status).toBe(200)
    expect(reached).not.toHaveProperty('rawAccept')
  })
  it.each(['/Binary/1/_history', '/Patient/1', '/Patient/1/_history/1', '/Binary'])('is not returned by %s', async (path) => {
    expect((await send('GET', path, { accept: 'image/png' })).status).toBe(406)
  })
})

describe('preferences', () => {
  it.each([
    ['return=minimal, return=representation', { return: 'minimal' }],
    ['return=representation; handling=lenient, return=minimal, handling=strict', { return: 'representation', handling: 'lenient' }],
    ['return=nothing, return=OperationOutcome', { return: 'OperationOutcome' }],
    ['constructor=1, respond-never', {}],
    ['Respond-Async, RETURN=minimal', { 'respond-async': 'true', return: 'minimal' }],
    ['respond-async, handling=strict', { 'respond-async': 'true', handling: 'strict' }],
  ])('use the first of repeated values: %s', async (prefer, preferences) => {
    await send('GET', '/Patient', { prefer })
    expect(reached?.preferences).toEqual(preferences)
  })
})

describe('the limit of a body', () => {
  it.each([
    [LIMIT - 1, 200],
    [LIMIT, 200],
    [LIMIT + 1, 413],
  ])('accepts %i bytes with %i', async (bytes, status) => expect((await put(patientTextOf(bytes))).status).toBe(status))

  const SEVERAL = 'The body is longer than 5 bytes. Send several requests, each with a part of the members'
  it.each([
    ['bulk-member-match', SEVERAL],
    ['provider-member-match', SEVERAL],
    ['member-match', 'The body is longer than 5 bytes'],
    ['update', 'The body is longer than 5 bytes'],
  ])('advises to divide a list of members: %s', (interaction, text) => {
    const event = { http: { body: Buffer.alloc(6), headers: {} }, interaction }
    const error = expect.objectContaining({ status: 413, message: text })
    expect(() => limitBody(5).before!({ event } as never)).toThrow(error)
  })
})

describe('the charset of a body', () => {
  it.each(['utf-8', 'UTF-8', 'utf8', '"utf-8"'])('is accepted: %s', async (charset) =>
    expect((await put(patientTextOf(100), `application/fhir+json; charset=${charset}`)).status).toBe(200),
  )
  it.each(['latin1', 'utf-16', '""'])('is rejected: %s', async (charset) =>
    expect((await put(patientTextOf(100), `application/fhir+json; charset=${charset}`)).status).toBe(415),
  )
})

describe('_summary and _elements', () => {
  it.each(['_elements=photo', '_summary=true', '_summary=text', '_summary=data'])('leave an OperationOutcome whole: %s', async (query) => {
    answer = { status: 200, body: WARNINGS as never }
    expect((await send('GET', `/Patient/1?${query}`)).body).toEqual(WARNINGS)
    const photo = [{ title: 'x' }]
    const entries = [{ resource: { resourceType: 'Patient', id: '1', active: true, photo } }, { resource: WARNINGS }]
    answer = { status: 200, body: { kind: 'bundle', type: 'searchset', link: [], entries } as never }
    const { entry } = (await send('GET', `/Patient?${query}`)).body
    expect(Object.keys(entry[0].resource)).toContain('meta')
    expect(entry[1].resource).toEqual(WARNINGS)
  })
})

describe('a large resource with _summary', () => {
  const resource = (length: number) => Buffer.from(JSON.stringify({ resourceType: 'Patient', photo: 'x'.repeat(length), active: true }))
  const page = (...resources: readonly Uint8Array[]) => ({ kind: 'bundle', entries: resources.map((each) => ({ resource: each })) })
  const turnsOf = (body: unknown): Promise<number> =>
    countTurnsDuring(async () => shapeBody.after!({ event: { part: { summary: 'true' } }, response: { status: 200, body } } as never))
  it('is processed in three turns of the event loop, a small one in none', async () => {
    // More on a busy machine.
    expect(await turnsOf(resource(1_500_000))).toBeGreaterThanOrEqual(2)
    expect(await turnsOf(page(resource(1_500_000), resource(10), resource(1_500_000)))).toBeGreaterThanOrEqual(4)
    expect(await turnsOf(resource(10))).toBe(0)
    expect(await turnsOf(page(resource(10), resource(10)))).toBe(0)
  })
})

describe('_pretty', () => {
  const resource = (bytes: number) => Buffer.from(`{"resourceType":"Patient","id":"${'x'.repeat(bytes)}"}`)
  const page = (...resources: readonly Uint8Array[]) => ({
    kind: 'bundle',
    type: 'searchset',
    link: [],
    entries: resources.map((each) => ({ resource: each })),
  })
  const linesOf = async (body: unknown, path: string): Promise<number> => {
    answer = { status: 200, body: body as never }
    return (await (await fetch(`http://127.0.0.1:${front.port}${path}?_pretty=true`)).text()).split('\n').length
  }
  it('indents up to the size of a page, and not beyond', async () => {
    expect(await linesOf(resource(4_900_000), '/Patient/1')).toBe(5)
    expect(await linesOf(resource(5_000_000), '/Patient/1')).toBe(1)
    expect(await linesOf(page(resource(2_500_000), resource(2_400_000)), '/Patient')).toBeGreaterThan(10)
    expect(await linesOf(page(resource(2_500_000), resource(2_500_000)), '/Patient')).toBe(1)
  })
})
