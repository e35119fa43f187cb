/** Answers a deployment may choose otherwise: dates without an offset, references to what is not there. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { dateRange } from '../../lambdas/fhir/date-range.ts'
import { observation, patient, ref } from '../fixtures/resources.ts'
import { type Tree, withServer } from './server.ts'

const transaction = (...entry: readonly object[]) => ({ resourceType: 'Bundle', type: 'transaction', entry })
const putEntry = (resource: { resourceType: string; id: string }) => ({
  resource,
  request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
})
const deleteEntry = (url: string) => ({ request: { method: 'DELETE', url } })

describe('timeZone', () => {
  const { put, get } = withServer({ FHIR_TIME_ZONE: 'Europe/Berlin' })

  it('is that of dates without an offset, in resources and in searches, in winter and in summer', async () => {
    const ids = async (query: string) => (await get(`/Observation?${query}`)).body.entry?.map(({ resource }: Tree) => resource.id) ?? []
    await put('/Observation/winter', observation('winter', { subject: 'Patient/1', date: '2023-01-15T23:30:00Z' }))
    await put('/Observation/summer', observation('summer', { subject: 'Patient/1', date: '2023-07-15T22:30:00Z' }))
    await put('/Observation/day', observation('day', { subject: 'Patient/1', date: '2023-10-29' }))
    expect(await ids('date=2023-01-16')).toEqual(['winter'])
    expect(await ids('date=2023-01-15')).toEqual([])
    expect(await ids('date=2023-07-16')).toEqual(['summer'])
    expect(await ids('date=2023-01-16T00:30')).toEqual(['winter'])
    expect(await ids('date=ge2023-10-29T22:59:58Z')).toEqual(['day'])
    expect(await ids('date=sa2023-10-28T21:59:59Z')).toEqual(['day'])
    expect(await ids('date=sa2023-10-28T22:00:01Z')).toEqual([])
  })

  it('a day is as long as clocks make it', () => {
    const hours = (text: string, zone?: string) => {
      const range = dateRange(text, zone)!
      return (range.high - range.low) / 3_600_000
    }
    expect(hours('2023-03-26', 'Europe/Berlin')).toBe(23)
    expect(hours('2023-10-29', 'Europe/Berlin')).toBe(25)
    expect(hours('2023-10-29')).toBe(24)
    expect(dateRange('2023-01-01', 'America/New_York')!.low).toBe(Date.parse('2023-01-01T05:00:00Z'))
    expect(dateRange('2023-01-01', 'Asia/Kathmandu')!.low).toBe(Date.parse('2022-12-31T18:15:00Z'))
    expect(dateRange('2023-01-01T00:00:00Z', 'Asia/Kathmandu')!.low).toBe(Date.parse('2023-01-01T00:00:00Z'))
  })
})

describe('referentialIntegrity', () => {
  const { put, get, post, delete: remove, patch } = withServer({ FHIR_REFERENTIAL_INTEGRITY: 'on' })

  it('refuses a reference to what is not there, with its place, and writes nothing', async () => {
    const id = randomUUID()
    const refused = await put(`/Observation/${id}`, observation(id, { subject: 'Patient/nobody', performer: [ref('Practitioner/none')] }))
    expect(refused.status).toBe(422)
    expect(refused.body.issue.map(({ code, expression }: Tree) => [code, expression])).toEqual([
      ['business-rule', ['Observation.subject.reference']],
      ['business-rule', ['Observation.performer[0].reference']],
    ])
    expect((await get(`/Observation/${id}`)).status).toBe(404)
    expect((await put(`/Observation/${id}`, observation(id, { subject: 'http://elsewhere.org/Patient/nobody' }))).status).toBe(201)
  })

  it('takes references to what is there, or comes with the same transaction', async () => {
    const [p, o, q] = [randomUUID(), randomUUID(), randomUUID()]
    await put(`/Patient/${p}`, patient(p))
    expect((await put(`/Observation/${o}`, observation(o, { subject: `Patient/${p}` }))).status).toBe(201)
    const both = await post('/', transaction(putEntry(observation(`${o}-2`, { subject: `Patient/${q}` })), putEntry(patient(q))))
    expect(both.status).toBe(200)
    const torn = await post('/', transaction(putEntry(patient(`${q}-2`)), putEntry(observation(`${o}-3`, { subject: 'Patient/nobody' }))))
    expect([torn.status, torn.body.issue[0].expression]).toEqual([422, ['Bundle.entry[1].resource.subject.reference']])
    expect((await get(`/Patient/${q}-2`)).status).toBe(404)
    const patched = await patch(`/Observation/${o}`, [{ op: 'replace', path: '/subject/reference', value: 'Patient/nobody' }])
    expect(patched.status).toBe(422)
  })

  it('keeps what others refer to, whichever element does, until they no longer do', async () => {
    const [p, o] = [randomUUID(), randomUUID()]
    await put(`/Patient/${p}`, patient(p))
    await put(`/Observation/${o}`, {
      ...observation(o, { subject: `Patient/${p}` }),
      note: [{ text: 'x', authorReference: ref(`Patient/${p}`) }],
    })
    const refused = await remove(`/Patient/${p}`)
    expect([refused.status, refused.body.issue[0].code]).toEqual([409, 'conflict'])
    await patch(`/Observation/${o}`, [{ op: 'remove', path: '/subject' }])
    expect((await remove(`/Patient/${p}`)).status).toBe(409)
    const refusedBoth = await post('/', transaction(deleteEntry(`Patient/${p}`), putEntry(observation(o, { subject: `Patient/${p}` }))))
    expect(refusedBoth.status).toBe(422)
    expect((await post('/', transaction(deleteEntry(`Patient/${p}`), deleteEntry(`Observation/${o}`)))).status).toBe(200)
    expect((await get(`/Patient/${p}`)).status).toBe(404)
  })

  it('of a reference and a deletion that race, one loses', async () => {
    for (let round = 0; round < 10; round++) {
      const [p, o] = [randomUUID(), randomUUID()]
      await put(`/Patient/${p}`, patient(p))
      const [written, deleted] = await Promise.all([
        put(`/Observation/${o}`, observation(o, { subject: `Patient/${p}` })),
        remove(`/Patient/${p}`),
      ])
      expect([[201, 409], [422, 204]]).toContainEqual([written.status, deleted.status]) // biome-ignore format: pairs
    }
  })
})
