/**
 * Small value sets that US Core binds as required and imports from VSAC. US regulation fixes their codes. The codes are facts; nothing is
 * copied from VSAC. `sources`: public pages that name the codes. 45 CFR 170.207: https://www.ecfr.gov/current/title-45/section-170.207
 */
import type { Resource } from '../../lambdas/fhir/resource.ts'

export type RegulatedValueSet = {
  /** OID of the value set in VSAC: http://cts.nlm.nih.gov/fhir/ValueSet/OID. */
  readonly oid: string
  readonly codes: Readonly<Record<string, readonly string[]>>
  readonly sources: readonly string[]
}

const RACE_AND_ETHNICITY = 'urn:oid:2.16.840.1.113883.6.238'
const NULL_FLAVOR = 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor'
const ADMINISTRATIVE_GENDER = 'http://terminology.hl7.org/CodeSystem/v3-AdministrativeGender'
const SNOMED = 'http://snomed.info/sct'
const DATA_ABSENT_REASON = 'http://terminology.hl7.org/CodeSystem/data-absent-reason'

const OMB = 'OMB Statistical Policy Directive No. 15 of 1997: https://www.govinfo.gov/content/pkg/FR-1997-10-30/pdf/97-28653.pdf'

export const US_VALUE_SETS: readonly RegulatedValueSet[] = [
  {
    oid: '2.16.840.1.114222.4.11.836',
    codes: { [RACE_AND_ETHNICITY]: ['1002-5', '2028-9', '2054-5', '2076-8', '2106-3', '2131-1'] },
    sources: [
      OMB,
      '45 CFR 170.207(f)',
      'the five categories: https://hl7.org/fhir/us/core/STU3.1.1/ValueSet-omb-race-category.html',
      'Other Race besides them: https://hl7.org/fhir/us/core/STU6.1/ValueSet-omb-race-category.html',
    ],
  },
  {
    oid: '2.16.840.1.114222.4.11.837',
    codes: { [RACE_AND_ETHNICITY]: ['2135-2', '2186-5'] },
    sources: [OMB, '45 CFR 170.207(f)', 'https://hl7.org/fhir/us/core/STU5/ValueSet-omb-ethnicity-category.html'],
  },
  {
    oid: '2.16.840.1.113762.1.4.1021.102',
    codes: { [NULL_FLAVOR]: ['ASKU', 'UNK'] },
    sources: ['https://hl7.org/fhir/us/core/STU5/ValueSet-omb-ethnicity-category.html'],
  },
  {
    oid: '2.16.840.1.113762.1.4.1',
    codes: { [ADMINISTRATIVE_GENDER]: ['F', 'M'] },
    sources: ['45 CFR 170.207(n)', 'https://hl7.org/fhir/us/core/STU6.1/ValueSet-birthsex.html'],
  },
  {
    oid: '2.16.840.1.113762.1.4.1021.103',
    codes: { [NULL_FLAVOR]: ['ASKU', 'OTH', 'UNK'] },
    sources: [
      'https://hl7.org/fhir/us/core/STU6.1/ValueSet-birthsex.html',
      'https://hl7.org/fhir/us/core/STU6.1/ValueSet-detailed-race.html',
    ],
  },
  {
    oid: '2.16.840.1.113762.1.4.1240.3',
    codes: { [SNOMED]: ['184115007', '248152002', '248153007'], [DATA_ABSENT_REASON]: ['asked-declined'] },
    sources: [
      '"Concepts limited to Male, Female, Patient Sex Unknown, asked-declined": https://hl7.org/fhir/us/core/STU6.1/StructureDefinition-us-core-sex.html',
      'the codes: https://github.com/bonfhir/bonfhir, us-core-sex',
    ],
  },
]

/** Returns the value sets without a version, so that those of a package that an operator adds take precedence. */
export const buildUsValueSets = (): readonly Resource[] =>
  US_VALUE_SETS.map(({ oid, codes }) => ({
    resourceType: 'ValueSet',
    url: `http://cts.nlm.nih.gov/fhir/ValueSet/${oid}`,
    status: 'active',
    compose: { include: Object.entries(codes).map(([system, list]) => ({ system, concept: list.map((code) => ({ code })) })) },
  }))
