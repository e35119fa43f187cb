/** How US Core's constraints fail and hold: members put at their element, `undefined` takes one away. */
import type { Tree } from './definitions.ts'

type Change = (value: Tree) => Tree

const row = (breaks: Tree | Change, holds: Tree | Change): readonly [Change, Change] => [
  typeof breaks === 'function' ? (breaks as Change) : () => breaks,
  typeof holds === 'function' ? (holds as Change) : () => holds,
]

const NO_VALUE = Object.fromEntries(
  ['Quantity', 'CodeableConcept', 'String', 'Boolean', 'Integer', 'Range', 'Ratio', 'DateTime', 'Period'].map((type) => [
    `value${type}`,
    undefined,
  ]),
)
const REASON = { text: 'some reason' }
const ORGANIZATION = { reference: 'Organization/some-id' }

export const RECIPES: Readonly<Record<string, readonly (readonly [Change, Change])[]>> = {
  'us-core-1': [
    row({ effectiveDateTime: '2024', effectivePeriod: undefined }, { effectiveDateTime: '2024-05-31', effectivePeriod: undefined }),
  ],
  'us-core-2': [
    row(
      { ...NO_VALUE, component: undefined, hasMember: undefined, dataAbsentReason: undefined },
      { ...NO_VALUE, dataAbsentReason: REASON },
    ),
  ],
  'us-core-3': [
    row(
      { ...NO_VALUE, dataAbsentReason: undefined, valueQuantity: { value: 5, system: 'http://example.org/units', code: 'x' } },
      { ...NO_VALUE, dataAbsentReason: undefined, valueQuantity: { value: 5, unit: 'g', system: 'http://unitsofmeasure.org', code: 'g' } },
    ),
  ],
  'vs-1': [row({ effectiveDateTime: '2024', effectivePeriod: undefined }, { effectiveDateTime: '2024-05-31', effectivePeriod: undefined })],
  'vs-2': [
    row(
      { ...NO_VALUE, component: undefined, hasMember: undefined, dataAbsentReason: undefined },
      { ...NO_VALUE, component: undefined, hasMember: undefined, dataAbsentReason: REASON },
    ),
  ],
  'vs-3': [row({ ...NO_VALUE, dataAbsentReason: undefined }, { ...NO_VALUE, dataAbsentReason: REASON })],
  'us-core-6': [
    row({ family: undefined, given: undefined, url: undefined, data: undefined, size: undefined, hash: undefined }, (value) =>
      'contentType' in value ? { url: 'http://example.org/some' } : { family: 'Some' },
    ),
  ],
  'us-core-7': [
    row(
      { status: 'completed', performedDateTime: undefined, performedPeriod: undefined },
      { status: 'not-done', performedDateTime: undefined, performedPeriod: undefined },
    ),
  ],
  'us-core-8': [
    row(
      { status: 'final', effectiveDateTime: undefined, effectivePeriod: undefined },
      { status: 'registered', effectiveDateTime: undefined, effectivePeriod: undefined },
    ),
  ],
  'us-core-9': [row({ status: 'final', issued: undefined }, { status: 'registered', issued: undefined })],
  'us-core-10': [
    row(
      { status: 'final', effectiveDateTime: undefined, effectivePeriod: undefined },
      { status: 'registered', effectiveDateTime: undefined, effectivePeriod: undefined },
    ),
  ],
  'us-core-13': [
    row(
      { practitioner: undefined, organization: undefined, healthcareService: undefined, location: undefined },
      { practitioner: { reference: 'Practitioner/some-id' }, organization: undefined },
    ),
  ],
  'us-core-14': [row({ name: undefined, relationship: undefined }, { name: [{ text: 'some name' }], relationship: undefined })],
  'us-core-15': [row({ subscriberId: undefined, identifier: undefined }, { subscriberId: 'some', identifier: undefined })],
  'us-core-16': [row({ value: '12345' }, { value: '1234567893' })],
  'us-core-18': [row({ value: 'AB' }, { value: '12D3456789' })],
  'us-core-20': [row({ status: 'completed', whenHandedOver: undefined }, { status: 'in-progress', whenHandedOver: undefined })],
  'us-core-21': [
    row(
      { intent: 'order', requester: undefined },
      { intent: 'plan', requester: undefined, reportedBoolean: true, reportedReference: undefined },
    ),
  ],
  'pd-1': [row({ telecom: undefined, endpoint: undefined }, { telecom: [{ system: 'phone', value: '5' }], endpoint: undefined })],
  'provenance-1': [
    row(
      { who: { reference: 'Practitioner/some-id' }, onBehalfOf: undefined },
      { who: { reference: 'Practitioner/some-id' }, onBehalfOf: ORGANIZATION },
    ),
  ],
}
