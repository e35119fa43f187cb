/** Versions as lines: unchanged bytes, absolute attachment URLs, and requested elements. */
import { describe, expect, it } from '@jest/globals'
import { deletionLineOf, lineOf, lineOptionsOf } from '../../../lambdas/export/write/ndjson-lines.ts'
import { observation, patient } from '../../fixtures/resources.ts'
import { patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const baseUrl = 'http://a.example/fhir'
const ALL = lineOptionsOf({ baseUrl, asked: { elements: [] } })

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const lined = (body: string | object, lines = ALL): string =>
  text(lineOf(versionOf(writeOf(resourceKeyOf('t', 'Any', 'a'), { body })), lines))

describe('A line', () => {
  it('equals the body, byte for byte', () => {
    const body = '{"resourceType":"Observation","id":"a","valueQuantity":{"value":1.10},"url":"http://a","note":"\\n"}'
    expect(lined(body)).toBe(body)
  })

  it('has no line break where the body had one between tokens', () =>
    expect(lined('{\r\n "resourceType": "Patient",\n "id": "a" }')).toBe('{   "resourceType": "Patient",  "id": "a" }'))

  it.each([
    ['Binary/1', `${baseUrl}/Binary/1`],
    ['/elsewhere/1', 'http://a.example/elsewhere/1'],
    ['http://b.example/1', 'http://b.example/1'],
    ['urn:oid:1.2.3', 'urn:oid:1.2.3'],
    ['#contained', '#contained'],
  ])('has the attachment URL %s as %s', (url, expected) => {
    expect(JSON.parse(lined(patient('a', { photo: [{ url }] }))).photo).toEqual([{ url: expected }])
    const inside = { resourceType: 'DocumentReference', id: 'a', content: [{ attachment: { url } }] }
    expect(JSON.parse(lined(inside)).content[0].attachment.url).toBe(expected)
    expect(JSON.parse(lined(patient('a', { contained: [inside] }))).contained[0].content[0].attachment.url).toBe(expected)
    const answer = { url: 'x', valueAttachment: { url } }
    expect(JSON.parse(lined(patient('a', { extension: [answer] }))).extension[0]).toEqual({ url: 'x', valueAttachment: { url: expected } })
  })

  it('keeps the text of decimals and of other URLs', () => {
    const body = '{"resourceType":"Observation","id":"a","valueQuantity":{"value":1.10},"extension":[{"url":"race","valueString":"x"}]}'
    expect(lined(body)).toBe(body)
    const attached = '{"resourceType":"Patient","id":"a","photo":[{"url":"1"}],"extension":[{"url":"e","valueDecimal":1.10}]}'
    expect(lined(attached)).toBe(attached.replace('"url":"1"', `"url":"${baseUrl}/1"`))
  })

  it('has the requested and mandatory elements, and the tag SUBSETTED', () => {
    const lines = lineOptionsOf({ baseUrl, asked: { elements: [{ type: 'Patient', element: 'gender' }, { element: 'value[x]' }] } })
    const shown = JSON.parse(lined(patient('a', { family: 'Abt', gender: 'female' }), lines))
    expect(Object.keys(shown).toSorted()).toEqual(['gender', 'id', 'meta', 'resourceType'])
    expect(shown.meta.tag).toMatchObject([{ code: 'SUBSETTED' }])
    const seen = JSON.parse(lined(observation('o', { valueQuantity: { value: 1 }, subject: 'Patient/a' }), lines))
    expect(Object.keys(seen).toSorted()).toEqual(['code', 'id', 'meta', 'resourceType', 'status', 'valueQuantity'])
  })

  it('for deletions is a transaction that deletes', () =>
    expect(JSON.parse(text(deletionLineOf([versionOf(writeOf(patientKeyOf('a')))])))).toEqual({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [{ request: { method: 'DELETE', url: 'Patient/a' } }],
    }))
})
