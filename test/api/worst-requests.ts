/**
 * The worst requests we know: each tries to hold the server, to fill its memory or to break it. `npm run bench -- worst` measures them
 * whole, the fuzz sends them small.
 */

import { worstPartnerRequests } from './worst-partner-requests.ts'
import type { WorstRequest } from './worst-request.ts'

/** What `worstRequests` counts on being there. */
export const SEED_COUNTS = { patients: 100, conditions: 3_000, heavy: 30 } as const

/** Bundles that make it. */
export function seedBundles(): readonly object[] {
  const put = (resource: { readonly resourceType: string; readonly id: string }) => ({
    resource,
    request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
  })
  const many = <T>(count: number, each: (i: number) => T): readonly T[] => Array.from({ length: count }, (_, i) => each(i))
  const transaction = (entry: readonly object[]) => ({ resourceType: 'Bundle', type: 'transaction', entry })
  return [
    transaction(
      many(SEED_COUNTS.patients, (i) =>
        put({ resourceType: 'Patient', id: `p${i}`, name: [{ family: `Family${i}` }], birthDate: '1970-01-01' } as never),
      ),
    ),
    transaction(
      many(SEED_COUNTS.conditions, (i) =>
        put({
          resourceType: 'Condition',
          id: `c${i}`,
          code: { coding: [{ system: 's', code: `code${i}` }] },
          subject: { reference: `Patient/p${i % 10}` },
          recordedDate: '2020-01-01',
        } as never),
      ),
    ),
    transaction(
      many(SEED_COUNTS.heavy, (i) =>
        put({
          resourceType: 'Basic',
          id: `b${i}`,
          code: { text: 'x' },
          extension: many(3_000, (j) => ({ url: `http://example.org/${j}`, valueString: 'x'.repeat(40) })),
        } as never),
      ),
    ),
  ]
}

const JSON_BODY = { 'content-type': 'application/fhir+json' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const PATCH = { 'content-type': 'application/json-patch+json' }

/** Each is made when it is asked for: together they are a gigabyte. `size`: 1 for the bench; a part of it makes the same requests smaller. */
export function* worstRequests(size = 1): Generator<WorstRequest> {
  const scaled = (count: number): number => Math.max(2, Math.ceil(count * size))
  const times = (text: string, count: number): string => text.repeat(scaled(count))
  const list = (count: number, each: (i: number) => string, separator = ','): string =>
    Array.from({ length: scaled(count) }, (_, i) => each(i)).join(separator)
  const get = (name: string, path: string, headers: Readonly<Record<string, string>> = {}): WorstRequest => ({
    name,
    method: 'GET',
    path,
    headers,
  })
  const put = (name: string, type: string, members: string): WorstRequest => ({
    name,
    method: 'PUT',
    path: `/${type}/worst`,
    headers: JSON_BODY,
    body: `{"resourceType":"${type}","id":"worst",${members}}`,
  })
  const form = (name: string, path: string, body: string): WorstRequest => ({ name, method: 'POST', path, headers: FORM, body })
  const patch = (name: string, path: string, body: string): WorstRequest => ({ name, method: 'PATCH', path, headers: PATCH, body })
  const fhirPathPatch = (name: string, path: string, body: string): WorstRequest => ({ ...patch(name, path, body), headers: JSON_BODY })
  const bundle = (name: string, type: string, count: number, each: (i: number) => object): WorstRequest => ({
    name,
    method: 'POST',
    path: '/',
    headers: JSON_BODY,
    body: `{"resourceType":"Bundle","type":"${type}","entry":[${list(count, (i) => JSON.stringify(each(i)))}]}`,
  })
  const post = (name: string, path: string, body: string): WorstRequest => ({ name, method: 'POST', path, headers: JSON_BODY, body })
  const validate = (name: string, members: string): WorstRequest =>
    post(name, '/Patient/$validate', `{"resourceType":"Patient","id":"worst",${members}}`)
  const applied = (name: string, expression: string, members = '"active":true'): WorstRequest =>
    post(
      name,
      '/$apply-fhirpath',
      `{"resourceType":"Parameters","parameter":[{"name":"fhirPath","valueString":${JSON.stringify(expression)}},{"name":"resource","resource":{"resourceType":"Patient",${members}}}]}`,
    )
  const definition = (name: string, element: readonly object[]): WorstRequest =>
    put(
      name,
      'StructureDefinition',
      `"url":"http://example.org/worst","name":"N","status":"draft","kind":"resource","abstract":false,"type":"Patient","derivation":"constraint","baseDefinition":"http://hl7.org/fhir/StructureDefinition/Patient","differential":{"element":${JSON.stringify(element)}}`,
    )
  const reading = (url: string) => ({ request: { method: 'GET', url } })
  const writing = (method: string, url: string, resource: object) => ({ resource, request: { method, url } })
  const questionnaire = (j: number, count: number) => ({
    resourceType: 'Questionnaire',
    id: `q${j}`,
    status: 'draft',
    item: Array.from({ length: scaled(count) }, (_, i) => ({ linkId: `l${i}`, type: 'string' })),
  })
  const extensions = (count: number, value: (i: number) => string): string =>
    `"extension":[${list(count, (i) => `{"url":"http://example.org/${i}",${value(i)}}`)}]`
  const coded = (i: number): string =>
    `{"code":{"coding":[{"system":"http://loinc.org","code":"${i}"}]},"valueQuantity":{"value":${i},"unit":"mg","system":"http://unitsofmeasure.org","code":"mg"}}`
  const operation = (path: string, more = '') =>
    `{"name":"operation","part":[{"name":"type","valueCode":"replace"},{"name":"path","valueString":${JSON.stringify(path)}},{"name":"value","valueBoolean":true}${more}]}`
  const parameters = (operations: string) => `{"resourceType":"Parameters","parameter":[${operations}]}`

  // biome-ignore format: one request a line
  {
    // Expressions and patches
    yield fhirPathPatch('FHIRPath Patch, exponential pattern', '/Patient/p99', parameters(operation(`Patient.name.where('${'a'.repeat(Math.ceil(28 * Math.min(1, size * 2)))}!'.matches('^(a+)+$')).family`)))
    yield put('parameter that doubles 24 times', 'SearchParameter', `"url":"http://example.org/worst","name":"W","status":"active","description":"d","code":"worst","base":["Patient"],"type":"string","expression":"Patient.name${'.select($this|$this.where(true))'.repeat(Math.ceil(24 * Math.min(1, size * 2)))}"`)
    yield put('parameter of a megabyte', 'SearchParameter', `"url":"http://example.org/worst","name":"W","status":"active","description":"d","code":"worst2","base":["Patient"],"type":"string","expression":"Patient${times('.name', 200_000)}"`)
    yield patch('JSON Patch that doubles 22 times', '/Basic/b0', `[${Array.from({ length: Math.ceil(22 * Math.min(1, size * 2)) }, () => '{"op":"copy","from":"/extension","path":"/extension/-"}').join(',')}]`)
    yield patch('JSON Patch of 200,000 tests', '/Patient/p99', `[${list(200_000, () => '{"op":"test","path":"/birthDate","value":"1970-01-01"}')}]`)
    yield patch('JSON Patch of 100,000 adds', '/Patient/p99', `[${list(100_000, () => '{"op":"add","path":"/name/0/given","value":["a"]}')}]`)
    yield patch('JSON Patch that inserts 200,000 items in front', '/Patient/p99', `[{"op":"add","path":"/name/0/given","value":["a"]},${list(200_000, () => '{"op":"add","path":"/name/0/given/0","value":"a"}')}]`)
    yield patch('JSON Patch of 15 MB in one value', '/Patient/p99', `[{"op":"add","path":"/name/0/text","value":"${times('x', 15_000_000)}"}]`)
    yield patch('JSON Patch with a path of 15 MB', '/Patient/p99', `[{"op":"add","path":"${times('/a', 7_500_000)}","value":1}]`)
    yield fhirPathPatch('FHIRPath Patch of 60,000 operations', '/Patient/p99', parameters(list(60_000, () => operation('Patient.active'))))
    yield fhirPathPatch('FHIRPath Patch with a path of 5 MB', '/Patient/p99', parameters(operation(`Patient${times('.name', 1_000_000)}`)))
    yield fhirPathPatch('FHIRPath Patch, 100,000 parentheses', '/Patient/p99', parameters(operation(`${times('(', 100_000)}Patient${times(')', 100_000)}`)))

    // JSON
    yield put('text that never ends, 15 MB', 'Patient', `"active":tru,"x":"${times('x', 15_000_000)}`)
    yield put('malformed after a string of 15 MB', 'Patient', `"x":"${times('x', 15_000_000)}",,`)
    yield put('malformed after a string of 7 M escapes', 'Patient', `"x":"${times('\\n', 7_500_000)}",,`)
    yield put('15 MB of backslashes', 'Patient', `"x":"${times('\\\\', 7_500_000)}\\u0000"`)
    yield put('5 M backslashed quotes', 'Patient', `"x":"${times('\\"', 7_500_000)}"`)
    yield put('a number of 15 M digits', 'Patient', `"x":${times('9', 15_000_000)}`)
    yield put('a decimal of 15 M digits', 'Observation', `"status":"final","code":{"text":"x"},"valueQuantity":{"value":0.${times('1', 15_000_000)}}`)
    yield put('1.5 M decimals to keep', 'Observation', `"status":"final","code":{"text":"x"},"x":[${list(1_500_000, () => '1.10')}]`)
    yield put('100,000 arrays in each other', 'Patient', `"x":${times('[', 100_000)}${times(']', 100_000)}`)
    yield put('100,000 objects in each other', 'Patient', `"x":${times('{"a":', 100_000)}1${times('}', 100_000)}`)
    yield put('7 M arrays never closed', 'Patient', `"x":${times('[', 7_000_000)}`)
    yield put('a property 1 M times', 'Patient', `${list(1_000_000, () => '"active":true')}`)
    yield put('a million unknown elements', 'Patient', list(1_000_000, (i) => `"a${i}":1`))
    yield put('a million unknown elements with long names', 'Patient', list(100_000, (i) => `"${'\\`'.repeat(60)}${i}":1`))
    yield put('3.5 M empty names', 'Patient', `"name":[${list(3_500_000, () => '{}')}]`)
    yield put('5 M nulls', 'Patient', `"name":[{"given":[${list(3_000_000, () => 'null')}]}]`)
    yield put('3 M empty extensions', 'Patient', `"extension":[${list(3_500_000, () => '{}')}]`)
    yield put('not UTF-8', 'Patient', `"x":"${times('\ud800', 100_000)}"`)

    // Validation
    yield put('75,000 components of an Observation', 'Observation', `"status":"final","code":{"text":"x"},"component":[${list(75_000, coded)}]`)
    yield put('150,000 extensions', 'Patient', extensions(150_000, () => '"valueString":"some value or other, with words"'))
    yield put('20,000 contained, none used', 'Patient', `"contained":[${list(20_000, (i) => `{"resourceType":"Organization","id":"o${i}","name":"x"}`)}]`)
    yield put('20,000 contained × 200,000 references', 'Patient', `"contained":[${list(20_000, (i) => `{"resourceType":"Organization","id":"o${i}","name":"x"}`)}],"generalPractitioner":[${list(200_000, (i) => `{"reference":"#o${i % 20_000}"}`)}]`)
    yield put('100,000 references to what is not contained', 'Patient', `"contained":[{"resourceType":"Organization","id":"o","name":"x"}],"generalPractitioner":[${list(300_000, (i) => `{"reference":"#${i}"}`)}]`)
    yield put('a code of 15 MB', 'Patient', `"gender":"${times('a ', 7_500_000)}  "`)
    yield put('a URI of 15 MB', 'Patient', `"implicitRules":"${times('urn:', 3_700_000)}"`)
    yield put('an OID of 15 MB', 'Patient', `"extension":[{"url":"u","valueOid":"urn:oid:1${times('.1', 7_000_000)}x"}]`)
    yield put('a date of 15 MB', 'Patient', `"birthDate":"2020-01-01${times('1', 15_000_000)}"`)
    yield put('an instant with 15 M digits', 'Patient', `"meta":{"lastUpdated":"2020-01-01T00:00:00.${times('1', 15_000_000)}"}`)
    yield put('an attachment of 15 MB', 'Patient', `"photo":[{"contentType":"image/png","data":"${times('AAAA', 3_750_000)}"}]`)
    yield put('an attachment of 15 MB, malformed at its end', 'Patient', `"photo":[{"data":"${times('AAAA', 3_750_000)}=="}]`)
    yield put('an attachment with 7 M spaces', 'Patient', `"photo":[{"data":"${times('A ', 7_500_000)}"}]`)
    yield put('a MIME type of 15 MB', 'Patient', `"photo":[{"contentType":"a/${times('a', 7_000_000)}${times(' ', 7_000_000)}x"}]`)
    yield put('a narrative of a million elements', 'Patient', `"text":{"status":"generated","div":"<div>${times('<b>x</b>', 1_500_000)}</div>"}`)
    yield put('a narrative, half a million elements deep', 'Patient', `"text":{"status":"generated","div":"<div>${times('<b>', 1_000_000)}x${times('</b>', 1_000_000)}</div>"}`)
    yield put('a narrative of a million comments', 'Patient', `"text":{"status":"generated","div":"<div>x${times('<!--', 3_500_000)}</div>"}`)
    yield put('a narrative with an attribute of 15 MB', 'Patient', `"text":{"status":"generated","div":"<div ${times('a', 7_000_000)}${times(' ', 7_000_000)}x</div>"}`)
    yield put('a narrative of 2 M entities', 'Patient', `"text":{"status":"generated","div":"<div>${times('&nbsp;', 2_500_000)}</div>"}`)
    yield put('200,000 concepts of a CodeSystem', 'CodeSystem', `"status":"draft","content":"complete","concept":[${list(200_000, (i) => `{"code":"c${i}"}`)}]`)
    yield put('20 levels of 2 concepts', 'CodeSystem', `"status":"draft","content":"complete","concept":[${nested(Math.max(2, Math.round(15 + Math.log2(size))))}]`)
    yield put('100,000 elements of a StructureDefinition', 'StructureDefinition', `"url":"u","name":"N","status":"draft","kind":"resource","abstract":false,"type":"Patient","snapshot":{"element":[${list(100_000, (i) => `{"id":"Patient.a${i}","path":"Patient.a${i}"}`)}]}`)
    yield put('100,000 items of a Questionnaire', 'Questionnaire', `"status":"draft","item":[${list(100_000, (i) => `{"linkId":"l${i}","type":"string","text":"t"}`)}]`)
    yield put('100,000 entries of a stored Bundle', 'Bundle', `"type":"collection","entry":[${list(100_000, (i) => `{"fullUrl":"urn:uuid:${i}","resource":{"resourceType":"Basic","id":"b${i}","code":{"text":"x"}}}`)}]`)
    yield put('100,000 entries with one fullUrl', 'Bundle', `"type":"collection","entry":[${list(100_000, () => '{"fullUrl":"urn:x","resource":{"resourceType":"Basic","id":"b","code":{"text":"x"}}}')}]`)
    yield put('200,000 identifiers', 'Patient', `"identifier":[${list(200_000, (i) => `{"system":"http://example.org","value":"${i}"}`)}]`)
    yield get('… pretty', '/Patient/worst?_pretty=true')
    yield get('… summarized', '/Patient/worst?_summary=true')
    yield put('100,000 tokens of one parameter', 'Observation', `"status":"final","code":{"coding":[${list(200_000, (i) => `{"system":"http://example.org","code":"${i}"}`)}]}`)
    yield put('100,000 strings too long to be found', 'Patient', `"name":[${list(1_800, () => `{"family":"${'y'.repeat(8_100)}"}`)}]`)
    yield { name: 'a Binary of 15 MB', method: 'PUT', path: '/Binary/worst', headers: { 'content-type': 'application/octet-stream' }, body: new Uint8Array(scaled(15_000_000)) }
    yield get('a Binary of 15 MB, pretty', '/Binary/worst?_pretty=true')
    yield { name: 'a body that says it is compressed', method: 'PUT', path: '/Patient/worst', headers: { ...JSON_BODY, 'content-encoding': 'gzip' }, body: new Uint8Array(scaled(15_000_000)) }
    yield { name: 'a body of 20 MB', method: 'PUT', path: '/Patient/worst', headers: JSON_BODY, body: new Uint8Array(scaled(20_000_000)) }

    // Profiles
    yield definition('a profile of 3,000 slices, a pattern that explodes, 300 constraints', [
      { id: 'Patient.identifier', path: 'Patient.identifier', slicing: { discriminator: [{ type: 'value', path: 'system' }], rules: 'open' } },
      ...Array.from({ length: scaled(3_000) }, (_, i) => [{ id: `Patient.identifier:s${i}`, path: 'Patient.identifier', sliceName: `s${i}`, max: '1' }, { id: `Patient.identifier:s${i}.system`, path: 'Patient.identifier.system', fixedUri: `s${i}` }]).flat(),
      { id: 'Patient.language', path: 'Patient.language', extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/regex', valueString: '(a+)+b' }] },
      { id: 'Patient.name', path: 'Patient.name', constraint: Array.from({ length: scaled(300) }, (_, i) => ({ key: `k${i}`, severity: 'error', human: 'x', expression: `text.exists() or given.where($this = 'x${i}').exists()` })) },
    ])
    yield validate('… with 50,000 identifiers', `"meta":{"profile":["http://example.org/worst"]},"identifier":[${list(50_000, (i) => `{"system":"x${i}"}`)}]`)
    yield validate('… with a text that the pattern explodes on', `"meta":{"profile":["http://example.org/worst"]},"language":"${'a'.repeat(40)}"`)
    yield validate('… with 20,000 names', `"meta":{"profile":["http://example.org/worst"]},"name":[${list(20_000, (i) => `{"family":"f${i}","given":["a","b"]}`)}]`)
    yield validate('100,000 names of a US Core Patient', `"meta":{"profile":["${US_CORE}us-core-patient"]},"gender":"male","identifier":[{"system":"s","value":"v"}],"name":[${list(100_000, (i) => `{"family":"f${i}","given":["a"]}`)}]`)
    yield validate('100,000 extensions that nobody knows', extensions(100_000, () => '"valueString":"x"'))
    yield validate('20,000 contained × 100,000 references, validated', `"contained":[${list(20_000, (i) => `{"resourceType":"Organization","id":"o${i}","name":"x"}`)}],"generalPractitioner":[${list(100_000, (i) => `{"reference":"#o${i % 20_000}"}`)}]`)
    yield validate('100 profiles nobody has', `"meta":{"profile":[${list(100, (i) => `"http://example.org/none/${i}"`)}]}`)
    yield applied('an expression that doubles 24 times', `name${'.select($this|$this.where(true))'.repeat(Math.ceil(24 * Math.min(1, size * 2)))}.exists()`)
    yield applied('an expression with a pattern that explodes', `'${'a'.repeat(Math.ceil(40 * Math.min(1, size * 2)))}!'.matches('^(a+)+$')`)
    yield applied('all of 50,000 names, shown', 'Patient.descendants()', `"name":[${list(50_000, (i) => `{"family":"f${i}"}`)}]`)
    yield get('everything of a patient with 300 conditions', '/Patient/p0/$everything?_count=1000')

    // Bundles
    yield bundle('transaction of 5,000 that refer to each other', 'transaction', 5_000, (i) => ({ fullUrl: `urn:uuid:${uuid(i)}`, ...writing('POST', 'Observation', { resourceType: 'Observation', id: `t-${Date.now().toString(36)}-${i}`, status: 'final', code: { text: 'x' }, subject: { reference: 'Patient/p0' }, hasMember: Array.from({ length: 20 }, (_, j) => ({ reference: `urn:uuid:${uuid((i + j) % scaled(5_000))}` })) }) }))
    yield bundle('transaction of 5,000 with conditional references', 'transaction', 5_000, (i) => writing('PUT', `Basic/t${i}`, { resourceType: 'Basic', id: `t${i}`, code: { text: 'x' }, subject: { reference: `Patient?family=family${i % 50}&birthdate=1970&_id=p${i}` } }))
    yield bundle('transaction of 5,000 conditional creates', 'transaction', 5_000, (i) => ({ resource: { resourceType: 'Basic', id: `n${i}`, code: { text: 'x' }, identifier: [{ system: 's', value: `${i}` }] }, request: { method: 'POST', url: 'Basic', ifNoneExist: `identifier=s|${i}` } }))
    yield bundle('transaction of 2,500 writes and 2,500 reads', 'transaction', 5_000, (i) => (i % 2 === 0 ? writing('PUT', `Basic/t${i}`, { resourceType: 'Basic', id: `t${i}`, code: { text: 'x' } }) : reading(`Patient/p${i % 50}`)))
    yield bundle('transaction of 5,000 deletes', 'transaction', 5_000, (i) => ({ request: { method: 'DELETE', url: `Basic/t${i}` } }))
    yield bundle('transaction of 100,000 entries', 'transaction', 100_000, (i) => reading(`Patient/p${i}`))
    yield bundle('batch of 5,000 updates', 'batch', 5_000, (i) => writing('PUT', `Basic/t${i}`, { resourceType: 'Basic', id: `t${i}`, code: { text: 'x' } }))
    yield bundle('batch of 5,000 reads', 'batch', 5_000, (i) => reading(`Patient/p${i % 50}`))
    yield bundle('batch of 5,000 reads of 300 kB', 'batch', 5_000, (i) => reading(`Basic/b${i % SEED_COUNTS.heavy}`))
    yield bundle('batch of 5,000 reads of nothing', 'batch', 5_000, (i) => reading(`Patient/none${i}`))
    yield bundle('batch of 5,000 histories', 'batch', 5_000, () => reading('Patient/_history?_count=100'))
    yield bundle('batch of 5,000 searches', 'batch', 5_000, () => reading('Condition?_count=1000'))
    yield bundle('batch of 3,000 _revinclude=*', 'batch', 3_000, (i) => reading(`Patient?_id=p${i % 50}&_revinclude=*`))
    yield bundle('batch of 1,000 searches for 3,000 values', 'batch', 1_000, () => reading(`Patient?_id=${Array.from({ length: scaled(3_000) }, (_, i) => i).join(',')}`))
    yield bundle('batch of 5,000 capability statements', 'batch', 5_000, () => reading('metadata'))
    yield bundle('batch of 5,000 unknown paths', 'batch', 5_000, () => reading('a/b/c/d/e'))
    yield bundle('batch of 2,000 resources of 100 findings', 'batch', 2_000, () => writing('POST', 'Patient', Object.fromEntries([['resourceType', 'Patient'], ...Array.from({ length: 110 }, (_, i) => [`a${i}`, 1])])))
    yield bundle('batch of 5,000 patches', 'batch', 5_000, (i) => writing('PATCH', `Patient/p${i % 50}`, { resourceType: 'Binary', contentType: 'application/json-patch+json', data: Buffer.from('[{"op":"add","path":"/active","value":true}]').toString('base64') }))
    yield bundle('batch of 20 searches of 500 kB', 'batch', 20, () => reading(`Patient?family=${'y'.repeat(scaled(500_000))}`))

    yield { ...bundle('batch of 5,000 histories, pretty', 'batch', 5_000, () => reading('Patient/_history?_count=100')), path: '/?_pretty=true' }
    yield { ...bundle('batch of 5,000 histories, summarized', 'batch', 5_000, () => reading('Patient/_history?_count=100')), path: '/?_summary=true' }
    yield bundle('batch of 2 resources of 50,000 items', 'batch', 2, (j) => writing('PUT', `Questionnaire/q${j}`, questionnaire(j, 50_000)))
    yield bundle('transaction of 2 resources of 50,000 items that refer to each other', 'transaction', 2, (j) => ({ fullUrl: `urn:uuid:${uuid(j)}`, ...writing('PUT', `Questionnaire/q${j}`, { ...questionnaire(j, 50_000), extension: [{ url: 'u', valueReference: { reference: `urn:uuid:${uuid(1 - j)}` } }] }) }))

    // Searches
    yield get('2,000 sort keys', `/Patient?_sort=${list(2_000, () => 'birthdate')}`)
    yield get('2,000 sort keys of groups', `/Condition?_group=code&_groupSort=${list(2_000, () => 'recorded-date')}`)
    yield form('300,000 values', '/Patient/_search', `_id=${list(300_000, (i) => `v${i}`)}`)
    yield form('5 M empty values', '/Patient/_search', `_id=${times(',', 15_000_000)}`)
    yield form('10,000 values', '/Patient/_search', `_id=${list(10_000, (i) => `v${i}`)}`)
    yield form('10,000 values of a chain', '/Observation/_search', `subject.identifier=${list(10_000, (i) => `v${i}`)}`)
    yield form('10,000 quantities', '/Observation/_search', `value-quantity=${list(10_000, (i) => `${i}||mg`)}`)
    yield form('100 composites', '/Observation/_search', `code-value-quantity=${list(100, (i) => `c${i}$gt${i}||mg`)}`)
    yield form('200 × 50 composites', '/Observation/_search', list(200, (j) => `code-value-quantity=${Array.from({ length: 50 }, (_, i) => `c${i}$gt${i + j}||mg`).join(',')}`, '&'))
    yield form('200 × 50 contains', '/Patient/_search', list(200, (j) => `family:contains=${Array.from({ length: 50 }, (_, i) => `y${i}${j}`).join(',')}`, '&'))
    yield form('10,000 parameters that are not there', '/Patient/_search', list(10_000, (i) => `p${i}=1`, '&'))
    yield form('16 MB of parameters', '/Patient/_search', times('a=&', 5_000_000))
    yield form('16 MB of percent signs', '/Patient/_search', `family=${times('%41', 5_000_000)}`)
    yield form('16 MB of malformed percent signs', '/Patient/_search', `family=${times('%', 15_000_000)}`)
    yield form('15 MB in one value', '/Patient/_search', `family=${times('x', 15_000_000)}`)
    yield form('15 MB of backslashes in a value', '/Patient/_search', `family=${times('\\,', 7_500_000)}`)
    yield form('15 MB of accents in a value', '/Patient/_search', `family=${times('é', 7_500_000)}`)
    yield form('15 MB in a name', '/Patient/_search', `${times('x', 15_000_000)}=1`)
    yield form('15 MB of dots in a name', '/Patient/_search', `${times('general-practitioner.', 700_000)}=1`)
    yield form('15 MB of colons in a name', '/Patient/_search', `family${times(':', 15_000_000)}=1`)
    yield form('7 M sort keys', '/Patient/_search', `_sort=${times('-,', 7_500_000)}`)
    yield form('7 M elements', '/Patient/_search', `_elements=${times('a,', 7_500_000)}`)
    yield form('2 M types', '/_search', `_type=${times('Patient,', 1_900_000)}`)
    yield form('1 M includes', '/Condition/_search', times('_include=*&', 1_300_000))
    yield form('a date of 15 MB', '/Patient/_search', `birthdate=2020${times('0', 15_000_000)}`)
    yield form('a quantity of 15 MB', '/Observation/_search', `value-quantity=5|http://unitsofmeasure.org|${times('m', 15_000_000)}`)
    yield form('a unit of 10,000 parentheses', '/Observation/_search', `value-quantity=5|http://unitsofmeasure.org|${times('(', 10_000)}m${times(')', 10_000)}`)
    yield form('100 units of 1,000 parts', '/Observation/_search', `value-quantity=${list(100, (i) => `5|http://unitsofmeasure.org|${times('m.', 1_000)}m${i + 1}`)}`)
    yield form('a position of 15 MB', '/Location/_search', `near=${times('1', 15_000_000)}|1`)
    yield form('10,000 positions', '/Location/_search', `near=${list(10_000, (i) => `${i % 90}|1|100|km`)}`)
    yield form('a group of 15 MB', '/Condition/_search', `_group=${times('code:', 3_000_000)}`)
    yield get('a chain through everything', '/Composition?subject.subject.subject.subject.name=x')
    yield get('1,000 types of one chain', `/Composition?${list(6, () => 'subject._id=x', '&')}`)
    yield get('20 reverse links', `/Patient?${times('_has:Observation:patient:', 20)}code=x`)
    yield get('4 reverse links', '/Patient?_has:Condition:patient:patient._has:Condition:patient:patient._has:Condition:patient:code=s|')
    yield get('200 reverse links side by side', `/Patient?${list(100, () => '_has:Condition:patient:code:not=x', '&')}`)
    yield get('1,000 pages of 300 kB', '/Basic?_count=1000')
    yield get('… pretty', '/Basic?_count=1000&_pretty=true')
    yield get('… summarized', '/Basic?_count=1000&_summary=true')
    yield get('… with one element', '/Basic?_count=1000&_elements=code')
    yield get('… with 50,000 elements', `/Basic?_count=1000&_elements=${list(50_000, (i) => `a${i}`)}`)
    yield get('1,000 conditions, pretty', '/Condition?_count=1000&_pretty=true')
    yield get('1,000 conditions, summarized', '/Condition?_count=1000&_summary=true')
    yield get('1,000 conditions and all they refer to', '/Condition?_count=1000&_include=*&_include:iterate=*')
    yield get('50 includes of everything', `/Condition?_count=1000&${list(50, () => '_include=*', '&')}`)
    yield get('all that refers to 100 patients', '/Patient?_count=100&_revinclude=*')
    yield get('50 × all that refers to 100 patients', `/Patient?_count=100&${list(50, () => '_revinclude=*', '&')}`)
    yield get('all that refers to it, again and again', '/Patient?_count=100&_revinclude:iterate=*&_include:iterate=*')
    yield get('3,000 groups', '/Condition?_group=code&_count=1000')
    yield get('1,000 groups pretty', '/Condition?_group=code&_count=1000&_pretty=true')
    yield get('an explanation of 10,000 values', `/Patient?_id=${list(10_000, (i) => `v${i}`)}`, { prefer: 'explain' })
    yield get('history of everything', '/_history?_count=1000')
    yield get('history of everything, pretty', '/_history?_count=1000&_pretty=true')
    yield get('history of heavy resources, summarized', '/Basic/_history?_count=1000&_summary=true')
    yield get('history at 40,000 dates', `/Basic/_history?${list(40_000, () => '_at=2020', '&')}`)
    yield get('the capabilities, pretty', '/metadata?_pretty=true')

    // Heads
    yield get('100,000 parameters in a URL', `/Patient?${times('a&', 200_000)}`)
    yield get('a path of 100,000 segments', `/${times('a/', 200_000)}`)
    yield get('a path of 400 kB percent-encoded', `/Patient/${times('%41', 130_000)}`)
    yield get('a version of 400,000 digits', `/Patient/p0/_history/${times('9', 400_000)}`)
    yield get('a Prefer header of 400 kB', '/Patient/p1', { prefer: times('a=b,', 100_000) })
    yield get('an Accept header of 400 kB', '/Patient/p0', { accept: times('a/b;q=0.1,', 40_000) })
    yield get('an Accept header of 400 kB of semicolons', '/Patient/p0', { accept: times(';', 400_000) })
    yield get('an If-None-Match header of 400 kB', '/Patient/p0', { 'if-none-match': times('W/"2",', 60_000) })
    yield get('an If-Modified-Since header of 400 kB', '/Patient/p0', { 'if-modified-since': times('1 ', 200_000) })
    yield get('an Accept-Encoding header of 400 kB', '/Patient/p0', { 'accept-encoding': times('gzip ;', 60_000) })
    yield get('400 kB of index tokens', '/Patient', { 'x-index-token': times(`${'A'.repeat(100)},`, 4_000) })
    yield get('an Origin of 400 kB', '/Patient/p0', { origin: `http://${times('a.', 200_000)}` })
    yield get('a cursor of 400 kB', `/Patient?_cursor=${times('A', 400_000)}`)
    yield { name: 'an If-Match header of 400 kB', method: 'PUT', path: '/Patient/p0', headers: { ...JSON_BODY, 'if-match': times('W/"2",', 60_000) }, body: '{"resourceType":"Patient","id":"p0"}' }
    yield { name: 'an If-None-Exist header of 400 kB', method: 'POST', path: '/Patient', headers: { ...JSON_BODY, 'if-none-exist': `_id=${list(60_000, (i) => `${i}`)}` }, body: '{"resourceType":"Patient","id":"new"}' }
    yield { name: 'a Content-Type of 400 kB', method: 'PUT', path: '/Patient/p0', headers: { 'content-type': `application/json${times(';a=b', 100_000)}` }, body: '{"resourceType":"Patient","id":"p0"}' }
    yield { name: 'a conditional update by 10,000 values', method: 'PUT', path: `/Patient?_id=${list(10_000, (i) => `u${i}`)}`, headers: JSON_BODY, body: '{"resourceType":"Patient"}' }

    yield* worstPartnerRequests(scaled)
  }
}

const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition/'

const uuid = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`

/** Concepts that each hold two, `levels` deep. */
const nested = (levels: number): string =>
  levels === 0 ? '{"code":"c"}' : `{"code":"c${levels}","concept":[${nested(levels - 1)},${nested(levels - 1)}]}`
