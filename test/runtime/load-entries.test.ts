/** What a load makes of the text of a file. */
import { describe, expect, it } from '@jest/globals'
import { entriesOf } from '../../lambdas/runtime/load/entries.ts'

const sent = (text: string) => entriesOf(text, 'f').map(({ key, place, text }) => ({ key, place, ...JSON.parse(text) }))

const bundle = (...entry: readonly object[]) => JSON.stringify({ resourceType: 'Bundle', entry }, undefined, 2)

describe('entriesOf', () => {
  it('takes a single resource as it is', () => {
    const text = '{"id":"a","resourceType":"Basic","code":{"text":"{\\"id\\":\\"x\\"]"}}'
    expect(sent(text)).toEqual([{ key: 'Basic/a', place: 'f', resource: JSON.parse(text), request: { method: 'PUT', url: 'Basic/a' } }])
  })
  it('keeps the text of decimals, and leaves out indentation', () => {
    const [{ text } = { text: '' }] = entriesOf(
      '{\r\n\t"resourceType": "Observation",\n  "id": "a",\n  "valueQuantity": { "value": 1.10 }\n}\n',
      'f',
    )
    expect(text).toBe(
      '{"resource":{"resourceType": "Observation","id": "a","valueQuantity": { "value": 1.10 }},"request":{"method":"PUT","url":"Observation/a"}}',
    )
  })
  it('resolves references by fullUrl in every element that can hold one', () => {
    const entries = sent(
      bundle(
        { fullUrl: 'urn:uuid:p', resource: { resourceType: 'Patient', id: 'p' } },
        { fullUrl: 'http://a.example/Binary/b', resource: { resourceType: 'Binary', id: 'b' } },
        {
          fullUrl: 'urn:uuid:o',
          resource: {
            resourceType: 'DocumentReference',
            id: 'o',
            subject: { reference: 'urn:uuid:p' },
            author: [{ reference: 'urn:uuid:unknown' }, { reference: 'http://a.example/Binary/b' }],
            description: 'see "reference":"urn:uuid:p"',
          },
        },
        {
          fullUrl: 'urn:uuid:q',
          resource: {
            resourceType: 'DocumentReference',
            id: 'q',
            extension: [{ url: 'urn:uuid:p', valueUri: 'urn:uuid:p' }],
            content: [{ attachment: { url: 'urn:uuid:p', size: 1.0 } }],
          },
        },
      ),
    )
    expect(entries.map(({ key, place }) => [key, place])).toEqual([
      ['Patient/p', 'f#0'],
      ['Binary/b', 'f#1'],
      ['DocumentReference/o', 'f#2'],
      ['DocumentReference/q', 'f#3'],
    ])
    expect(entries[2]!.resource).toMatchObject({
      subject: { reference: 'Patient/p' },
      author: [{ reference: 'urn:uuid:unknown' }, { reference: 'Binary/b' }],
      description: 'see "reference":"urn:uuid:p"',
    })
    expect(entries[3]!.resource).toMatchObject({ extension: [{ valueUri: 'Patient/p' }], content: [{ attachment: { url: 'Patient/p' } }] })
  })
  it('takes the id of a resource without one from its fullUrl', () => {
    const entries = sent(bundle({ fullUrl: 'urn:uuid:1-2', resource: { resourceType: 'Patient', active: true } }))
    expect(entries).toMatchObject([{ key: 'Patient/1-2', resource: { resourceType: 'Patient', id: '1-2', active: true } }])
  })
  it('opens no other resource that has entries, and no Bundle without any', () => {
    expect(sent('{"entry":[{"item":{"reference":"Patient/1"}}],"resourceType":"List","id":"l"}')).toMatchObject([{ key: 'List/l' }])
    expect(sent('{"resourceType":"Bundle","id":"b","type":"collection"}')).toMatchObject([{ key: 'Bundle/b' }])
    expect(sent(bundle())).toEqual([])
  })
  it.each([
    ['{"resourceType":', 'line 1, column 17'],
    ['{"resourceType":"Patient","id":"a"', 'line 1'],
    ['{"resourceType":"Patient,"id":"a"}', 'line 1'],
    ['[]', 'not a FHIR resource'],
    ['{"resourceType":1,"id":"a"}', 'not a FHIR resource'],
    ['{"id":"a"}', 'not a FHIR resource'],
    ['', 'line 1'],
    ['{"resourceType":"Patient"}', 'the Patient has no id'],
    ['{"resourceType":"Bundle","entry":{}}', 'not a FHIR resource'],
  ])('refuses %s', (text, reason) => {
    expect(() => entriesOf(text, 'f')).toThrow(reason)
  })
})
