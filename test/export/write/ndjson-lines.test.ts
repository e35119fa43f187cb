/** Versions as lines: unchanged bytes, absolute attachment URLs, requested elements, and views. */
import { describe, expect, it } from '@jest/globals'
import { deletionLineOf, lineOf, lineOptionsOf } from '../../../lambdas/export/write/ndjson-lines.ts'
import { writeJson } from '../../../lambdas/fhir/json.ts'
import { CLAIM_PAIRS } from '../../fixtures/payer/claims.ts'
import { observation, patient } from '../../fixtures/resources.ts'
import { patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const baseUrl = 'http://a.example/fhir'
const ALL = lineOptionsOf({ baseUrl, asked: { elements: [] } })

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const versionWith = (body: string | object, type = 'Any') => versionOf(writeOf(resourceKeyOf('t', type, 'a'), { body }))
const lined = (body: string | object, lines = ALL): string => text(lineOf(versionWith(body), lines)!)

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
    expect(JSON.parse(text(deletionLineOf([versionOf(writeOf(patientKeyOf('a')))], ALL)!))).toEqual({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [{ request: { method: 'DELETE', url: 'Patient/a' } }],
    }))
})

describe('A line under a view', () => {
  const viewed = { ...ALL, view: { of: 'payer', isLoaded: () => true } } as const
  const [whole, without] = CLAIM_PAIRS[0]!

  it('has the claim without its amounts, with the text of its decimals', () => {
    const item = [{ sequence: 1, quantity: { value: '\u00001.50' }, net: { value: '\u00009.90' } }]
    const line = text(lineOf(versionWith(writeJson({ ...whole, item }), 'ExplanationOfBenefit'), viewed)!)
    expect(line).toContain('"quantity":{"value":1.50}')
    expect(line).not.toContain('9.90')
    expect(JSON.parse(line).supportingInfo).toEqual(without.supportingInfo)
    expect(JSON.parse(line)).not.toHaveProperty('total')
  })

  it('has only the requested elements that the view shows, and one tag', () => {
    const lines = { ...viewed, elements: ['total', 'use', 'payment'] }
    const line = JSON.parse(text(lineOf(versionWith(writeJson(whole), 'ExplanationOfBenefit'), lines)!))
    expect(line).toMatchObject({ use: 'claim' })
    expect(Object.keys(line)).not.toEqual(expect.arrayContaining(['total']))
    expect(line.meta.tag).toHaveLength(1)
  })

  it('has absolute attachment URLs', () => {
    const supportingInfo = [{ sequence: 1, valueAttachment: { url: 'Binary/1' } }]
    const line = text(lineOf(versionWith(writeJson({ ...whole, supportingInfo }), 'ExplanationOfBenefit'), viewed)!)
    expect(JSON.parse(line).supportingInfo[0].valueAttachment).toEqual({ url: `${baseUrl}/Binary/1` })
  })

  it('equals the body of a resource that the view does not change, byte for byte', () => {
    const body = '{"resourceType":"Observation", "id":"a","valueQuantity":{"value":1.10}}'
    expect(text(lineOf(versionWith(body, 'Observation'), viewed)!)).toBe(body)
    const contained = body.replace('"id"', '"contained":[{"resourceType":"Patient","id":"p"}],"id"')
    expect(text(lineOf(versionWith(contained, 'Observation'), viewed)!)).toBe(contained)
  })

  it('is missing for a hidden type, for its deletions, and for a body of a hidden type', () => {
    expect(lineOf(versionWith({ resourceType: 'Claim', id: 'a' }, 'Claim'), viewed)).toBeUndefined()
    expect(lineOf(versionWith('damaged', 'Claim'), viewed)).toBeUndefined()
    expect(lineOf(versionWith({ resourceType: 'Claim', id: 'a' }, 'Coverage'), viewed)).toBeUndefined()
    const [claim, shown] = ['Claim', 'Patient'].map((type) => versionOf(writeOf(resourceKeyOf('t', type, 'a'))))
    expect(deletionLineOf([claim!], viewed)).toBeUndefined()
    expect(JSON.parse(text(deletionLineOf([claim!, shown!], viewed)!)).entry).toEqual([{ request: { method: 'DELETE', url: 'Patient/a' } }])
    expect(deletionLineOf([], ALL)).toBeUndefined()
  })
})
