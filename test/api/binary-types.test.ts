/** Raw Binaries of many media types, in both directions: any of them on the embedded server, and what API Gateway passes on AWS. @cloud:here */
import { describe, expect, it } from '@jest/globals'
import { ALL_BYTES, MEDIA_TYPES } from '../fixtures/media-types.ts'
import { isExternalServer, newId, withServer } from './server.ts'

const { get, put, raw: fetched, send } = withServer()

const dataOf = async (id: string): Promise<Buffer> =>
  Buffer.from((await get(`/Binary/${id}`, { accept: 'application/fhir+json' })).body.data, 'base64')

describe.each(MEDIA_TYPES)('content of %s', (type, passed) => {
  const isPassed = !isExternalServer || passed === 'bytes'

  it(`is ${isPassed ? 'stored as it was sent' : '415 and not stored'}`, async () => {
    const id = newId()
    const { status } = await send('PUT', `/Binary/${id}`, ALL_BYTES, { 'content-type': type })
    if (isPassed) expect([status, await dataOf(id)]).toEqual([201, Buffer.from(ALL_BYTES)])
    else expect([status, (await get(`/Binary/${id}`)).status]).toEqual([415, 404])
  })

  it(`is ${isPassed ? 'sent as it was stored' : '406 if it is not UTF-8'}`, async () => {
    const id = newId()
    const resource = { resourceType: 'Binary', id, contentType: type, data: Buffer.from(ALL_BYTES).toString('base64') }
    expect((await put(`/Binary/${id}`, resource)).status).toBe(201)
    const answer = await fetched(`/Binary/${id}`, { headers: { accept: type } })
    const bytes = Buffer.from(await answer.arrayBuffer())
    if (isPassed) expect([answer.status, answer.headers.get('content-type'), bytes]).toEqual([200, type, Buffer.from(ALL_BYTES)])
    else expect([answer.status, JSON.parse(bytes.toString()).resourceType]).toEqual([406, 'OperationOutcome'])
  })
})
