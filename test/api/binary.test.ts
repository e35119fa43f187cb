/** Binary: any content, raw and as a resource. https://hl7.org/fhir/R4/binary.html @cloud */
import { expect, it } from '@jest/globals'
import { newId, withServer } from './server.ts'

const { get, raw: fetched, send } = withServer()

const bytes = Uint8Array.from({ length: 512 }, (_, i) => i % 256)

it('a Binary is stored raw and read raw, byte for byte, or as a resource', async () => {
  const id = newId()
  const stored = await send('PUT', `/Binary/${id}`, bytes, { 'content-type': 'image/png' })
  expect([stored.status, stored.body.contentType]).toEqual([201, 'image/png'])
  for (const shape of ['', '?_pretty=true', '?_summary=true', '?_elements=id']) {
    const raw = await fetched(`/Binary/${id}${shape}`, { headers: { accept: 'image/png' } })
    expect([shape, raw.headers.get('content-type'), raw.headers.get('etag')]).toEqual([shape, 'image/png', 'W/"1"'])
    expect(new Uint8Array(await raw.arrayBuffer())).toEqual(bytes)
  }
  const resource = await get(`/Binary/${id}`, { accept: 'application/fhir+json' })
  for (const accept of ['image/png', 'application/fhir+json'])
    for (const known of ['W/"1"', 'W/"2"'])
      expect((await fetched(`/Binary/${id}`, { headers: { accept, 'if-none-match': known } })).headers.get('vary')).toMatch(/\bAccept\b/)
  expect(Buffer.from(resource.body.data, 'base64')).toEqual(Buffer.from(bytes))
})
it('a Binary that is posted raw gets an id', async () => {
  const answer = await send('POST', '/Binary', 'hello', { 'content-type': 'text/plain; charset=utf-8' })
  expect(answer.status).toBe(201)
  const raw = await fetched(`/Binary/${answer.body.id}`, { headers: { accept: 'text/plain' } })
  expect([await raw.text(), raw.headers.get('content-type')]).toEqual(['hello', 'text/plain; charset=utf-8'])
})
it('a Binary is served to browsers in its own type, and other types are 406', async () => {
  const id = newId()
  await send('PUT', `/Binary/${id}`, bytes, { 'content-type': 'image/png' })
  expect((await fetched(`/Binary/${id}`, { headers: { accept: 'image/avif,image/webp,*/*;q=0.8' } })).headers.get('content-type')).toBe(
    'image/png',
  )
  expect((await fetched(`/Binary/${id}`, { headers: { accept: 'application/pdf' } })).status).toBe(406)
})
const OF_NO_TYPE = [
  ['with non-ASCII characters', 'text/plain;x=\u6f22'],
  ['with control characters', 'text/plain;x=\u0007'],
  ['too long for a header', `text/plain;x=${'x'.repeat(1_000)}`],
] as const
for (const [kind, contentType] of OF_NO_TYPE)
  it(`a Binary with a type ${kind} is served as application/octet-stream`, async () => {
    const id = newId()
    const stored = await send('PUT', `/Binary/${id}`, JSON.stringify({ resourceType: 'Binary', id, contentType, data: 'aGVsbG8=' }))
    expect([stored.status, stored.body.contentType]).toEqual([201, contentType])
    const raw = await fetched(`/Binary/${id}`, { headers: { accept: 'text/plain' } })
    expect([raw.status, raw.headers.get('content-type'), await raw.text()]).toEqual([200, 'application/octet-stream', 'hello'])
  })
it('a Binary gets its security context from X-Security-Context', async () => {
  const answer = await send('PUT', `/Binary/${newId()}`, undefined, {
    'content-type': 'application/pdf',
    'x-security-context': 'Patient/1',
  })
  expect([answer.status, answer.body.securityContext]).toEqual([201, { reference: 'Patient/1' }])
})
