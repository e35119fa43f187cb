/** Values that are right for a type. */
import { definitionAt, PRIMITIVES, type Tree } from './definitions.ts'

const UCUM = 'http://unitsofmeasure.org'

const SAMPLES: Readonly<Record<string, unknown>> = {
  base64Binary: 'YWJj',
  boolean: true,
  canonical: 'http://example.org/fhir/some',
  code: 'some-code',
  date: '2024-02-29',
  dateTime: '2024-02-29T08:15:00.5+01:00',
  decimal: 1.5,
  id: 'A.b-9',
  instant: '2024-02-29T08:15:00.123Z',
  integer: 7,
  markdown: 'some *text*',
  oid: 'urn:oid:1.2.3',
  positiveInt: 7,
  string: 'some text',
  time: '23:59:59.5',
  unsignedInt: 7,
  uri: 'urn:example:some',
  url: 'http://example.org/some',
  uuid: 'urn:uuid:c757873d-ec9a-4326-a141-556f43239520',
  Address: { text: 'some address' },
  Age: { value: 5, unit: 'a', system: UCUM, code: 'a' },
  Annotation: { text: 'some text' },
  Attachment: { contentType: 'text/plain', url: 'http://example.org/some' },
  CodeableConcept: { text: 'some concept' },
  Coding: { system: 'http://example.org/codes', code: 'some' },
  ContactPoint: { system: 'phone', value: '555' },
  Duration: { value: 5, unit: 'h', system: UCUM, code: 'h' },
  Expression: { language: 'text/fhirpath', expression: 'true' },
  HumanName: { text: 'some name' },
  Identifier: { system: 'http://example.org/ids', value: '5' },
  Money: { value: 5, currency: 'EUR' },
  Period: { start: '2023-05', end: '2024' },
  Quantity: { value: 5 },
  Range: { low: { value: 1 }, high: { value: 2 } },
  Ratio: { numerator: { value: 1 }, denominator: { value: 2 } },
  Reference: { display: 'some reference' },
  Timing: { code: { text: 'some time' } },
}

export const sampleOf = (type: string): unknown => structuredClone(SAMPLES[type])

export const EXTENSION: Tree = { url: 'http://example.org/fhir/StructureDefinition/some', valueString: 'some text' }

export const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1)

/** `valueDateTime` and its sample. */
export const extensionOf = (type: string, value = sampleOf(type)): Tree => ({ url: EXTENSION.url, [`value${capital(type)}`]: value })

export const TYPES_OF_EXTENSION: ReadonlySet<string> = new Set(definitionAt('Extension.value[x]').types.map(({ code }) => code))

/** Another value of the same type. */
export function another(value: unknown, type: string): unknown {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return PRIMITIVES.has(type) && type !== 'decimal' ? value + 1 : value + 0.5
  const sample = sampleOf(type)
  return JSON.stringify(sample) === JSON.stringify(value) ? undefined : sample
}
