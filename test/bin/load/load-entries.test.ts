/** Resources that a load reads from the text of a file. */
import { describe, expect, it } from '@jest/globals'
import { parseLoadEntries } from '../../../bin/load/load-entries.ts'
import { patchedBufferOf, sizedTextOf } from '../../../bin/load/patched-bytes.ts'
import { type Random, randomOf } from '../../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'

const entries = (text: string | Buffer) =>
  [...parseLoadEntries(Buffer.from(text), 'f').entries(new Map())].map(({ key, place, resource }) => ({
    key,
    place,
    text: patchedBufferOf(resource).toString(),
  }))

const sent = (text: string) => entries(text).map(({ text, ...rest }) => ({ ...rest, resource: JSON.parse(text) }))

const bundle = (...entry: readonly object[]) => JSON.stringify({ resourceType: 'Bundle', entry }, undefined, 2)

describe('parseLoadEntries', () => {
  it('returns a single resource unchanged', () => {
    const text = '{"id":"a","resourceType":"Basic","code":{"text":"{\\"id\\":\\"x\\"]"}}'
    expect(sent(text)).toEqual([{ key: 'Basic/a', place: 'f', resource: JSON.parse(text) }])
  })
  it('removes white space between values, and nothing else', () => {
    const text =
      '\ufeff{\r\n\t"resourceType" : "Observation",\n  "id":"a" , "valueQuantity": { "value": 1.10 , "unit" :" µg  \\"{ " },"component":[ ] }\n'
    expect(entries(text)).toMatchObject([
      { text: '{"resourceType":"Observation","id":"a","valueQuantity":{"value":1.10,"unit":" µg  \\"{ "},"component":[]}' },
    ])
  })
  it('leaves faults in numbers, escapes and names to the server', () => {
    for (const text of [
      '{"resourceType":"Basic","id":"a","code":{"x":01e}}',
      '{"resourceType":"Basic","id":"a","x":"\\q"}',
      '{"resourceType":"Basic","id":"a","x":1,"x":2}',
      `{"resourceType":"Basic","id":"a","x":${'['.repeat(1000)}${']'.repeat(1000)}}`,
    ])
      expect(entries(text)).toEqual([{ key: 'Basic/a', place: 'f', text }])
  })
  it('resolves references by fullUrl in every element that can hold one', () => {
    const resolved = sent(
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
    expect(resolved.map(({ key, place }) => [key, place])).toEqual([
      ['Patient/p', 'f#0'],
      ['Binary/b', 'f#1'],
      ['DocumentReference/o', 'f#2'],
      ['DocumentReference/q', 'f#3'],
    ])
    expect(resolved[2]!.resource).toMatchObject({
      subject: { reference: 'Patient/p' },
      author: [{ reference: 'urn:uuid:unknown' }, { reference: 'Binary/b' }],
      description: 'see "reference":"urn:uuid:p"',
    })
    expect(resolved[3]!.resource).toMatchObject({ extension: [{ valueUri: 'Patient/p' }], content: [{ attachment: { url: 'Patient/p' } }] })
  })
  it('resolves links in narratives, and leaves the rest of them unchanged', () => {
    const div = (to: string, quote = '\\"') =>
      `<div xmlns=\\"http://www.w3.org/1999/xhtml\\">\\u00e9 urn:uuid:p <a href=${quote}${to}${quote}>\\/</a></div>`
    const basic = (text: string) => `{"resourceType":"Basic","id":"b","text":{"div":"${text}"},"subject":{"reference":"urn:uuid:none"}}`
    const of = (text: string) =>
      entries(
        `{"resourceType":"Bundle","entry":[{"fullUrl":"urn:uuid:p","resource":{"resourceType":"Patient","id":"p"}},{"resource":${basic(text)}}]}`,
      )[1]!.text
    expect(JSON.parse(of(div('urn:uuid:p', "'")))).toEqual(JSON.parse(basic(div('Patient/p'))))
    expect(of(div('urn:uuid:other'))).toBe(basic(div('urn:uuid:other')))
    const odd = bundle({
      fullUrl: 'urn:uuid:b',
      resource: { ...JSON.parse(basic('x')), text: { div: `Organization?x <a href='urn:uuid:p'/>` } },
    })
    expect([...parseLoadEntries(Buffer.from(odd), 'f').entries(new Map())].map(({ searches }) => searches.map(({ to }) => to))).toEqual([
      ['urn:uuid:none'],
    ])
  })
  it('resolves a relative reference against the server in the fullUrl of its entry', () => {
    const text = bundle(
      { fullUrl: 'http://a.example/fhir/Organization/1', resource: { resourceType: 'Organization', id: 'o' } },
      ...['http://a.example/fhir/Basic/1', 'urn:uuid:b'].map((fullUrl, i) => ({
        fullUrl,
        resource: { resourceType: 'Basic', id: `b${i}`, author: { reference: 'Organization/1' } },
      })),
    )
    expect(sent(text).map(({ resource }) => resource.author?.reference)).toEqual([undefined, 'Organization/o', 'Organization/1'])
    const [other] = [...parseLoadEntries(Buffer.from(text), 'f').entries(new Map([['Organization/o', 'Organization/other']]))]
    expect(JSON.parse(patchedBufferOf(other!.resource).toString()).author).toEqual({ reference: 'Organization/other' })
  })
  it('resolves a reference to a version if the entry has that version or none', () => {
    const focus = ['urn:uuid:p/_history/7', 'urn:uuid:p/_history/6', 'urn:uuid:q/_history/6'].map((reference) => ({ reference }))
    const text = bundle(
      { fullUrl: 'urn:uuid:p', resource: { resourceType: 'Patient', id: 'p', meta: { versionId: '7' } } },
      { fullUrl: 'urn:uuid:q', resource: { resourceType: 'Patient', id: 'q', contained: [{ meta: { versionId: '7' } }] } },
      { resource: { resourceType: 'Observation', id: 'o', focus } },
    )
    expect(sent(text)[2]!.resource.focus.map(({ reference }: { reference: string }) => reference)).toEqual([
      'Patient/p',
      'urn:uuid:p/_history/6',
      'Patient/q',
    ])
  })
  it('refuses both of two resources with the same fullUrl', () => {
    const text = bundle(
      ...['a', 'b', 'c'].map((id) => ({ fullUrl: id === 'c' ? 'urn:c' : 'urn:a', resource: { resourceType: 'Basic', id } })),
    )
    const reason = 'has the fullUrl of another entry: references may mean either'
    expect(parseLoadEntries(Buffer.from(text), 'f').refused).toEqual(['a', 'b'].map((id) => ({ place: 'f', key: `Basic/${id}`, reason })))
    expect(entries(text).map(({ key }) => key)).toEqual(['Basic/c'])
  })
  it('lists references by search in every element that can hold one', () => {
    const search = 'Organization?identifier=urn:x|\\u00e9'
    const text = `{"resourceType":"Basic","id":"b","subject":{"reference":"${search}"},"extension":[{"url":"urn:x","valueUri":"${search}"}]}`
    const wanted = 'Organization?identifier=urn:x|é'
    const searchesOf = (text: string) =>
      [...parseLoadEntries(Buffer.from(text), 'f').entries(new Map())].map(({ searches }) => searches.map(({ to }) => to))
    expect(searchesOf(text)).toEqual([[wanted, wanted]])
    const [entry] = parseLoadEntries(Buffer.from(text), 'f').entries(new Map())
    for (const each of entry!.searches) each.text = sizedTextOf('"Organization/1"')
    expect(patchedBufferOf(entry!.resource).toString()).toBe(text.replaceAll(search, 'Organization/1'))
    const canonical = '{"resourceType":"Basic","id":"b","extension":[{"url":"Organization?x=1","valueCanonical":"Organization?x=1"}]}'
    expect(searchesOf(canonical)).toEqual([[]])
  })
  it('lists them also if another element has a urn: URL', () => {
    const document = {
      resourceType: 'DocumentReference',
      id: 'd',
      content: [{ attachment: { url: 'urn:uuid:b' } }],
      custodian: { reference: 'Organization?identifier=1' },
    }
    const text = bundle({ fullUrl: 'urn:uuid:b', resource: { resourceType: 'Binary', id: 'b' } }, { resource: document })
    const entry = [...parseLoadEntries(Buffer.from(text), 'f').entries(new Map())][1]!
    for (const each of entry.searches) each.text = sizedTextOf('"Organization/1"')
    expect(JSON.parse(patchedBufferOf(entry.resource).toString())).toEqual({
      ...document,
      content: [{ attachment: { url: 'Binary/b' } }],
      custodian: { reference: 'Organization/1' },
    })
  })
  it('leaves references in the entries of a nested Bundle unchanged', () => {
    const inside = {
      resourceType: 'Patient',
      id: 'p',
      managingOrganization: { reference: 'urn:uuid:o' },
      generalPractitioner: [{ reference: 'Practitioner?x=1' }],
    }
    for (const document of [
      { resourceType: 'Bundle', id: 'b', entry: [{ resource: inside }], signature: { who: { reference: 'urn:uuid:o' } } },
      { id: 'b', entry: [{ resource: inside }], signature: { who: { reference: 'urn:uuid:o' } }, resourceType: 'Bundle' },
    ]) {
      const text = bundle({ fullUrl: 'urn:uuid:o', resource: { resourceType: 'Organization', id: 'o' } }, { resource: document })
      const entry = [...parseLoadEntries(Buffer.from(text), 'f').entries(new Map())][1]!
      expect(entry.searches).toEqual([])
      expect(JSON.parse(patchedBufferOf(entry.resource).toString())).toEqual({
        ...document,
        signature: { who: { reference: 'Organization/o' } },
      })
    }
    expect(
      sent(bundle({ fullUrl: 'urn:uuid:o', resource: { resourceType: 'List', id: 'l', entry: [{ item: { reference: 'urn:uuid:o' } }] } })),
    ).toMatchObject([{ resource: { entry: [{ item: { reference: 'List/l' } }] } }])
  })
  it('lists conditional creates, and omits a resource that another replaces', () => {
    const text = bundle(
      {
        fullUrl: 'urn:uuid:1',
        resource: { resourceType: 'Patient', id: '1' },
        request: { method: 'POST', url: 'Patient', ifNoneExist: '?identifier=1' },
      },
      {
        resource: { resourceType: 'Basic', id: '2', subject: { reference: 'urn:uuid:1' } },
        request: { method: 'POST', url: 'Basic', ifNoneExist: 5 },
      },
    )
    const opened = parseLoadEntries(Buffer.from(text), 'f')
    expect(opened.unless).toEqual([{ key: 'Patient/1', search: 'Patient?identifier=1' }])
    const left = [...opened.entries(new Map([['Patient/1', 'Patient/other']]))]
    expect(left.map(({ place, resource }) => [place, JSON.parse(patchedBufferOf(resource).toString()).subject])).toEqual([
      ['f#1', { reference: 'Patient/other' }],
    ])
  })
  it('refuses DELETE, PATCH and repeated resources, and keeps the places of the rest', () => {
    const basic = (id: string, method?: string) => ({ resource: { resourceType: 'Basic', id }, request: { method, url: `Basic/${id}` } })
    const gone = { fullUrl: 'http://a.example/Basic/d', request: { method: 'DELETE', url: 'Basic/d' } }
    const text = bundle(
      basic('a', 'PUT'),
      gone,
      basic('a', 'POST'),
      basic('b', 'PATCH'),
      basic('c'),
      { ...basic('a'), fullUrl: 'urn:a' },
      {
        resource: { resourceType: 'Basic', id: 'e', subject: { reference: 'urn:a' } },
      },
    )
    expect(parseLoadEntries(Buffer.from(text), 'f').refused).toEqual([
      { place: 'f#1', key: '', reason: 'DELETE is not loaded, resources are' },
      { place: 'f#3', key: '', reason: 'PATCH is not loaded, resources are' },
      { place: 'f', key: 'Basic/a', reason: 'is in the Bundle several times, as in a history: load the one that is meant' },
    ])
    expect(entries(text)).toMatchObject([
      { key: 'Basic/c', place: 'f#4' },
      { key: 'Basic/e', text: expect.stringContaining('"Basic/a"') },
    ])
  })
  it('sends a resource that it cannot parse unchanged', () => {
    const wrong = '{"resourceType":"Basic","id":"a","extension":[{"url":"urn:uuid:a","url":"x"}]}'
    expect(entries(`{"resourceType":"Bundle","entry":[{"fullUrl":"urn:uuid:a","resource":${wrong}}]}`)).toMatchObject([{ text: wrong }])
  })
  it('takes a missing id from the fullUrl', () => {
    const link = { other: { reference: 'urn:uuid:1-2' } }
    expect(entries(bundle({ fullUrl: 'urn:uuid:1-2', resource: { link, resourceType: 'Patient', active: true } }))).toMatchObject([
      { key: 'Patient/1-2', text: '{"link":{"other":{"reference":"Patient/1-2"}},"resourceType":"Patient","id":"1-2","active":true}' },
    ])
  })
  it('puts that id before references that follow the type', () => {
    const person = { resourceType: 'Patient', link: { other: { reference: 'urn:uuid:1-2' } }, active: true }
    expect(entries(bundle({ fullUrl: 'urn:uuid:1-2', resource: person }))).toMatchObject([
      { text: '{"resourceType":"Patient","id":"1-2","link":{"other":{"reference":"Patient/1-2"}},"active":true}' },
    ])
  })
  it('does not open a List, or a Bundle without entries', () => {
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
    ['{"resourceType":"Bundle","entry":[5]}', 'not a FHIR resource'],
    ['{"resourceType":"Bundle","entry":[5]}{}', 'line 1, column 38'],
    ['{"resourceType":"Basic",\n"id":"a" "x":1}', 'line 2, column 10'],
    ['{"resourceType":"Basic","id":"a","x":tr ue}', 'line 1, column 38'],
    ['{"resourceType":"Basic","id":"a","x":[1 2]}', 'line 1, column 41'],
    ['{"resourceType":"Basic","id":"a","x":[1}]', 'line 1, column 40'],
    ['{"resourceType":"Basic","id":"a","x":{"y":1]}', 'line 1, column 44'],
    ['{"resourceType":"Basic","id":"a",}', 'line 1, column 34'],
    ['{"resourceType":"Basic","id":"a"} {"resourceType":"Basic","id":"b"}', 'line 1, column 35'],
    ['{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Basic","id":"a"},"resource":{}}]}', 'the same property twice'],
    ['{"resourceType":"Bundle","entry":[],"entry":[]}', 'the same property twice'],
  ])('refuses %s', (text, reason) => {
    expect(() => entries(text)).toThrow(reason)
  })
  it('refuses a file that is not UTF-8', () => {
    expect(() => entries(Buffer.from('{"resourceType":"Basic","id":"\xe9"}', 'latin1'))).toThrow('not valid UTF-8')
  })
})

/** JSON token as it stands in the file and as the load sends it. */
type Token = readonly [inFile: string, sent: string]

const same = (...texts: readonly string[]): readonly Token[] => texts.map((text) => [text, text] as const)

const SCALARS = [
  ...['0', '-0', '1.10', '1e3', '-2.50E-07', '123456789012345678901234567890.0', 'true', 'false', 'null', '""', '" "', '"{[,:]}"'],
  ...['"a"', '"abc"', '"abcd"', '"abcde\\n"', '"abcd\\"efg"', '"ab\\\\"', '"ÿÿÿÿé"'],
  ...['"\\\\"', '"\\""', '"\\u00e9\\/\\n"', '"é 😀"', '"urn:uuid:a"', '"\\\\\\""', `"${'long '.repeat(50)}"`],
]
const NAMES = [
  '"id"',
  '"resourceType"',
  '"entry"',
  '"resource"',
  '"fullUrl"',
  '"x"',
  '"ref"',
  '"referencE"',
  '"\\u0069d"',
  '"ß"',
  '"a\\"b"',
]
const REFERENCES = ['"urn:uuid:a"', '"urn:uuid:none"', '"http:\\/\\/a.example\\/Basic\\/ü"', '"Patient/1"', '"#a"', '5', '{}']
const TO: Readonly<Record<string, string>> = { '"urn:uuid:a"': '"Patient/a"', '"http:\\/\\/a.example\\/Basic\\/ü"': '"Basic/ü1"' }

function jsonOf(random: Random, depth: number): readonly Token[] {
  const kind = depth > 4 ? 3 : random.below(6)
  if (kind > 2) return same(random.pick(SCALARS))
  const items = Array.from({ length: random.below(4) }, () => (kind === 0 ? jsonOf(random, depth + 1) : memberOf(random, depth + 1)))
  const listed = items.flatMap((item, i) => (i === 0 ? item : [...same(','), ...item]))
  return kind === 0 ? [...same('['), ...listed, ...same(']')] : [...same('{'), ...listed, ...same('}')]
}

function memberOf(random: Random, depth: number): readonly Token[] {
  if (random.below(3) > 0) return [...same(random.pick(NAMES), ':'), ...jsonOf(random, depth)]
  const reference = random.pick(REFERENCES)
  return [...same(random.pick(['"reference"', '"valueUri"', '"valueUrl"']), ':'), [reference, TO[reference] ?? reference]]
}

describe('The JSON that is sent', () => {
  it('equals that of the file, except for white space and references', () => {
    for (let seed = firstSeed(); seed < firstSeed() + caseCountOf(500, 20_000); seed++) {
      const random = randomOf(seed)
      const inside = Array.from({ length: 1 + random.below(4) }, () => [...same(',', '"x"', ':'), ...jsonOf(random, 0)])
      const resource = [...same('{', '"resourceType"', ':', '"Basic"', ',', '"id"', ':', '"b"'), ...inside.flat(), ...same('}')]
      const space = () => random.pick(['', '', ' ', '\n', '\r\n\t\t', '\n    ', '\n          '])
      const text = resource.map(([inFile]) => space() + inFile).join('')
      const others =
        '{"fullUrl":"urn:uuid:a","resource":{"resourceType":"Patient","id":"a"}},{"fullUrl":"http://a.example/Basic/ü","resource":{"resourceType":"Basic","id":"ü1"}}'
      const [first] = entries(`{"entry":[{"resource":${text}${space()}},${others}],"resourceType":"Bundle"}${space()}`)
      expect([seed, first!.text]).toEqual([seed, resource.map(([, sent]) => sent).join('')])
    }
  })
})
