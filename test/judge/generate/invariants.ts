/** Breaks of rules: by the key of a constraint, what is to be put at its element so that it fails, and what so that it holds. */
import { type Breaker, type Candidate, isFirst, type Patch, putPatch, removalPatch } from './candidate.ts'
import { definitionAt, membersAt, type Tree } from './definitions.ts'
import type { Host, Path, PlacesAndHosts } from './places.ts'
import { EXTENSION } from './samples.ts'

type Change = Readonly<Record<string, unknown>>

/** Of an element: members put (undefined: taken away) for the fault, and for what is right. */
type Recipe = { readonly breaks: (value: Tree) => Change; readonly holds: (value: Tree) => Change }

const row = (breaks: Change | ((value: Tree) => Change), holds: Change | ((value: Tree) => Change)): Recipe => ({
  breaks: typeof breaks === 'function' ? breaks : () => breaks,
  holds: typeof holds === 'function' ? holds : () => holds,
})

const text = (content: string): Tree => ({ status: 'generated', div: content })
const XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'
const MISSING_TARGET = { reference: '#nowhere' }
const UCUM = 'http://unitsofmeasure.org'
const OPTION = [{ valueString: 'some' }]

const RECIPES: Readonly<Record<string, Recipe | readonly Recipe[]>> = {
  'txt-1': [
    row({ text: text(`<div ${XHTML}><script>x</script></div>`) }, { text: text(`<div ${XHTML}><p>x</p></div>`) }),
    row({ text: text(`<div ${XHTML}><p onclick="x">x</p></div>`) }, { text: text(`<div ${XHTML}><p class="x">x</p></div>`) }),
    row({ text: text('<div>x</div>') }, { text: text(`<div ${XHTML}>x</div>`) }),
    row({ text: text(`<div ${XHTML}><p>x</div>`) }, { text: text(`<div ${XHTML}><p>x</p><br/></div>`) }),
    row({ text: text('some text') }, { text: text(`<div ${XHTML}>x<b>y</b></div>`) }),
  ],
  'txt-2': row(
    { text: text(`<div ${XHTML}> </div>`) },
    { text: text(`<div ${XHTML}><img src="http://example.org/x.png" alt="x"/></div>`) },
  ),
  'per-1': [
    row({ start: '2024-05-02', end: '2024-05-01' }, { start: '2024-05-01', end: '2024-05-01' }),
    row({ start: '2024-05-02T08:00:00Z', end: '2024-05-02T07:59:59Z' }, { start: '2024-05-02T08:00:00Z', end: '2024-05-02' }),
  ],
  'qty-3': row({ system: undefined, code: 'kg' }, { system: UCUM, code: 'kg', unit: 'kg' }),
  'cpt-2': row({ system: undefined, value: '555' }, { system: 'phone', value: '555' }),
  'att-1': row(
    { contentType: undefined, data: 'YWJj', size: undefined, hash: undefined },
    { contentType: 'text/plain', data: 'YWJj', size: undefined, hash: undefined },
  ),
  'rat-1': row({ numerator: { value: 1 }, denominator: undefined }, { numerator: { value: 1 }, denominator: { value: 2 } }),
  'rng-2': row({ low: { value: 5 }, high: { value: 4 } }, { low: { value: 4 }, high: { value: 4 } }),
  'ref-1': row(MISSING_TARGET, { reference: undefined, display: 'some' }),
  'age-1': row({ value: -5, unit: undefined, system: UCUM, code: 'a' }, { value: 5, system: UCUM, code: 'a' }),
  'drt-1': row({ value: undefined, system: UCUM, code: 'h' }, { value: 5, system: UCUM, code: 'h' }),
  'ext-1': [
    row({ extension: [{ ...EXTENSION, extension: [EXTENSION] }] }, { extension: [{ url: EXTENSION.url, extension: [EXTENSION] }] }),
    row({ extension: [{ url: EXTENSION.url }] }, { extension: [EXTENSION] }),
  ],
  'tim-1': row({ duration: 5, durationUnit: undefined }, { duration: 5, durationUnit: 'h' }),
  'tim-2': row({ period: 5, periodUnit: undefined }, { frequency: 1, period: 5, periodUnit: 'd' }),
  'tim-4': row({ duration: -5, durationUnit: 'h' }, { duration: 0, durationUnit: 'h' }),
  'tim-5': row({ period: -5, periodUnit: 'd' }, { period: 0, periodUnit: 'd' }),
  'tim-6': row({ period: undefined, periodUnit: undefined, periodMax: 5 }, { period: 1, periodUnit: 'd', periodMax: 5 }),
  'tim-7': row({ durationMax: 5 }, { duration: 1, durationUnit: 'h', durationMax: 5 }),
  'tim-8': row({ countMax: 5 }, { count: 1, countMax: 5 }),
  'tim-9': row({ offset: 5, when: ['C'] }, { offset: 5, when: ['ACM'] }),
  'tim-10': row(
    { timeOfDay: ['08:00:00'], when: ['AC'], offset: undefined },
    { timeOfDay: ['08:00:00'], when: undefined, offset: undefined },
  ),
  'ait-1': row(
    { clinicalStatus: undefined, verificationStatus: undefined },
    { clinicalStatus: coded('allergyintolerance-clinical', 'resolved'), verificationStatus: undefined },
  ),
  'ait-2': row(
    {
      clinicalStatus: coded('allergyintolerance-clinical', 'active'),
      verificationStatus: coded('allergyintolerance-verification', 'entered-in-error'),
    },
    { clinicalStatus: undefined, verificationStatus: coded('allergyintolerance-verification', 'entered-in-error') },
  ),
  'app-1': row({ type: undefined, actor: undefined }, { type: [{ text: 'some' }], actor: undefined }),
  'app-2': row({ start: '2024-05-01T08:00:00Z', end: undefined }, { start: '2024-05-01T08:00:00Z', end: '2024-05-01T09:00:00Z' }),
  'app-3': row({ status: 'booked', start: undefined, end: undefined }, { status: 'proposed', start: undefined, end: undefined }),
  'app-4': row({ status: 'booked', cancelationReason: { text: 'some' } }, { status: 'cancelled', cancelationReason: { text: 'some' } }),
  'sev-1': row({ name: 'some', query: 'YWJj' }, { name: undefined, query: 'YWJj' }),
  'bdl-1': row({ type: 'collection', total: 5, link: undefined }, { type: 'collection', total: undefined }),
  'bdl-5': row(
    () => ({ resource: undefined, request: undefined, response: undefined, search: undefined }),
    () => ({ id: 'some-id' }),
  ),
  'bdl-7': row(
    ({ entry }) => ({ entry: [...entry, entry[0]] }),
    ({ entry }) => ({ entry }),
  ),
  'bdl-8': row(
    ({ fullUrl }) => ({ fullUrl: `${fullUrl}/_history/1` }),
    () => ({ id: 'some-id' }),
  ),
  'cpb-2': row({ description: undefined, software: undefined, implementation: undefined }, { description: 'some' }),
  'cpb-14': row(
    { kind: 'instance', implementation: undefined },
    { kind: 'instance', implementation: { description: 'some', url: 'http://example.org/fhir' } },
  ),
  'cpb-15': row(
    { kind: 'capability', software: undefined, implementation: undefined },
    { kind: 'capability', software: { name: 'some' }, implementation: undefined },
  ),
  'cpb-9': row(
    ({ resource }) => ({ resource: [...resource, resource[0]] }),
    ({ resource }) => ({ resource: [resource[0]] }),
  ),
  'cpl-3': row(
    { reference: { display: 'some' }, detail: { status: 'completed' } },
    { reference: undefined, detail: { status: 'completed' } },
  ),
  'cmp-1': row({ text: undefined, entry: undefined, section: undefined }, { entry: [{ display: 'some' }] }),
  'cmp-2': row({ entry: [{ display: 'some' }], emptyReason: { text: 'some' } }, { entry: [{ display: 'some' }], emptyReason: undefined }),
  'cmd-1': row({ equivalence: 'narrower', comment: undefined }, { equivalence: 'narrower', comment: 'some' }),
  'con-1': row({ summary: undefined, assessment: undefined, type: { text: 'some' } }, { summary: { text: 'some' } }),
  'con-2': row({ code: undefined, detail: undefined, id: 'some-id' }, { code: [{ text: 'some' }], detail: undefined }),
  'con-4': row(
    { abatementDateTime: '2024', abatementString: undefined, clinicalStatus: coded('condition-clinical', 'active') },
    { abatementDateTime: '2024', abatementString: undefined, clinicalStatus: coded('condition-clinical', 'resolved') },
  ),
  'con-5': row(
    { verificationStatus: coded('condition-ver-status', 'entered-in-error'), clinicalStatus: coded('condition-clinical', 'active') },
    { verificationStatus: coded('condition-ver-status', 'entered-in-error'), clinicalStatus: undefined, abatementDateTime: undefined },
  ),
  'ppc-1': row({ policy: undefined, policyRule: undefined }, { policyRule: { text: 'some' } }),
  'fhs-1': row({ ageString: 'some', bornString: 'some' }, { ageString: undefined, bornString: 'some' }),
  'fhs-2': row(
    { estimatedAge: true, ageString: undefined, ageAge: undefined, ageRange: undefined },
    { estimatedAge: true, ageString: 'some', bornDate: undefined, bornPeriod: undefined },
  ),
  'gol-1': row(
    { measure: undefined, detailString: 'some', detailQuantity: undefined, detailRange: undefined },
    { measure: { text: 'some' }, detailString: 'some', detailQuantity: undefined, detailRange: undefined },
  ),
  'grp-1': row({ actual: false, member: [{ entity: { display: 'some' } }] }, { actual: true, member: [{ entity: { display: 'some' } }] }),
  'imm-1': row({ documentType: undefined, reference: undefined, publicationDate: '2024' }, { documentType: 'some' }),
  'lst-1': row({ emptyReason: { text: 'some' } }, { emptyReason: { text: 'some' }, entry: undefined }),
  'lst-2': row(
    ({ entry }) => ({ mode: 'snapshot', entry: [{ ...entry[0], deleted: true, date: undefined }] }),
    ({ entry }) => ({ mode: 'changes', entry: [{ ...entry[0], deleted: true, date: undefined }] }),
  ),
  'mad-1': row({ dose: undefined, rateQuantity: undefined, rateRatio: undefined, text: 'some' }, { dose: { value: 1 } }),
  'mdd-1': row({ whenPrepared: '2024-05-02', whenHandedOver: '2024-05-01' }, { whenPrepared: '2024-05-01', whenHandedOver: '2024-05-02' }),
  'msq-3': row({ coordinateSystem: 2 }, { coordinateSystem: 1 }),
  'msq-5': row(
    { genomeBuild: undefined, chromosome: { text: 'some' }, referenceSeqId: { text: 'some' } },
    { genomeBuild: undefined, chromosome: undefined, referenceSeqId: { text: 'some' } },
  ),
  'obs-3': row({ low: undefined, high: undefined, text: undefined, id: 'some-id' }, { text: 'some' }),
  'obs-6': row({ valueString: 'some', dataAbsentReason: { text: 'some' } }, { valueString: undefined, dataAbsentReason: { text: 'some' } }),
  'obs-7': row(
    ({ code }) => ({ valueString: 'some', component: [{ code, valueString: 'some' }] }),
    ({ code }) => ({ component: [{ code, valueString: 'some' }] }),
  ),
  'opd-1': row({ type: undefined, part: undefined }, { type: 'string' }),
  'opd-2': row({ type: 'code', searchType: 'token' }, { type: 'string', searchType: 'token' }),
  'opd-3': row(
    { type: 'code', targetProfile: ['http://hl7.org/fhir/StructureDefinition/Patient'] },
    { type: 'Reference', targetProfile: ['http://hl7.org/fhir/StructureDefinition/Patient'] },
  ),
  'org-1': row({ identifier: undefined, name: undefined }, { name: 'some', identifier: undefined }),
  'org-2': row({ address: [{ use: 'home', text: 'some' }] }, { address: [{ use: 'work', text: 'some' }] }),
  'org-3': row({ telecom: [{ use: 'home', system: 'phone', value: '5' }] }, { telecom: [{ use: 'work', system: 'phone', value: '5' }] }),
  'pat-1': row(
    { name: undefined, telecom: undefined, address: undefined, organization: undefined, gender: 'male' },
    { name: { text: 'some' } },
  ),
  'que-1': row(
    { type: 'group', item: undefined, answerOption: undefined, answerValueSet: undefined, enableWhen: undefined },
    { type: 'string', item: undefined, answerOption: undefined },
  ),
  'que-3': row(
    { type: 'display', code: [{ code: 'x' }], item: undefined, required: undefined, repeats: undefined },
    { type: 'display', code: undefined, item: undefined, required: undefined, repeats: undefined },
  ),
  'que-4': row(
    { type: 'choice', item: undefined, answerOption: OPTION, answerValueSet: 'http://example.org/set' },
    { type: 'choice', item: undefined, answerOption: OPTION, answerValueSet: undefined },
  ),
  'que-5': row({ type: 'boolean', item: undefined, answerOption: OPTION }, { type: 'choice', item: undefined, answerOption: OPTION }),
  'que-6': row(
    { type: 'display', item: undefined, code: undefined, required: true, repeats: undefined },
    { type: 'boolean', item: undefined, code: undefined, required: true, repeats: undefined },
  ),
  'que-9': row(
    { type: 'display', item: undefined, code: undefined, required: undefined, repeats: undefined, readOnly: true },
    { type: 'boolean', item: undefined, readOnly: true },
  ),
  'que-10': row({ type: 'date', item: undefined, maxLength: 5 }, { type: 'string', item: undefined, maxLength: 5 }),
  'que-11': row(
    { type: 'choice', item: undefined, answerOption: OPTION, initial: [{ valueString: 'some' }] },
    { type: 'choice', item: undefined, answerOption: OPTION, initial: undefined },
  ),
  'que-13': row(
    { type: 'string', item: undefined, repeats: undefined, initial: OPTION.concat(OPTION) },
    { type: 'string', item: undefined, repeats: true, initial: OPTION.concat(OPTION) },
  ),
  'que-2': row(
    ({ item }) => ({ item: [...item, item[0]] }),
    ({ item }) => ({ item: [item[0]] }),
  ),
  'qrs-1': row(({ linkId }) => ({ answer: [{ valueString: 'some' }], item: [{ linkId: `${linkId}.x` }] }), { id: 'some-id' }),
  'ras-2': row({ probabilityDecimal: 101, probabilityRange: undefined }, { probabilityDecimal: 100, probabilityRange: undefined }),
  'rqg-1': row({ resource: undefined, action: undefined }, { resource: { display: 'some' }, action: undefined }),
  'prr-1': row({ code: undefined, orderDetail: [{ text: 'some' }] }, { code: { text: 'some' }, orderDetail: [{ text: 'some' }] }),
  'vsd-9': row({ code: undefined, abstract: undefined, display: 'some' }, { code: undefined, abstract: true, display: 'some' }),
  'vsd-10': row({ system: undefined }, { version: '1' }),
  'vsd-1': row(
    { valueSet: undefined, system: undefined, version: '1', concept: undefined, filter: undefined },
    { valueSet: ['http://example.org/set'], system: undefined, version: undefined, concept: undefined, filter: undefined },
  ),
  'inv-1': row({ authoredOn: '2024-05-02', lastModified: '2024-05-01' }, { authoredOn: '2024-05-01', lastModified: '2024-05-02' }),
}

function coded(system: string, code: string): Tree {
  return { coding: [{ system: `http://terminology.hl7.org/CodeSystem/${system}`, code }] }
}

export const invariant: Breaker = (resource, found) =>
  Object.entries(RECIPES).flatMap(([key, recipes]) => [recipes].flat().flatMap((recipe) => broken(key, recipe, resource, found)))

/** Wherever the definitions say the rule. */
function broken(key: string, recipe: Recipe, resource: Tree, { hosts }: PlacesAndHosts): readonly Candidate[] {
  if (key.startsWith('txt') || key === 'ext-1')
    return membersAt(resource.resourceType).has('text') && resource.extension === undefined ? [candidateOf(key, recipe, hosts[0]!)] : []
  return hosts.filter((host) => isFirst(host) && says(host, key)).map((host) => candidateOf(key, recipe, host))
}

const says = ({ at }: Host, key: string): boolean =>
  definitionAt(at)?.constraints.includes(key) === true || (key === 'ref-1' && at === 'Reference')

function candidateOf(key: string, { breaks, holds }: Recipe, { path, value, at }: Host): Candidate {
  return { kind: key, element: at, break: patches(path, breaks(value), value), neighbour: patches(path, holds(value), value) }
}

const patches = (path: Path, change: Change, value: Tree): readonly Patch[] =>
  Object.entries(change)
    .filter(([name, each]) => each !== undefined || name in value)
    .map(([name, each]) =>
      each === undefined ? removalPatch([...path, name]) : putPatch([...path, name], JSON.parse(JSON.stringify(each))),
    )
