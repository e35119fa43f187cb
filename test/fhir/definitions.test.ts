/** The generated definitions and search mappings equal the current output of `npm run generate` for HL7's package. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import invariants from '../../lambdas/fhir/definitions/invariants.json' with { type: 'json' }
import { R4 } from '../../lambdas/fhir/definitions/r4.ts'
import summaries from '../../lambdas/fhir/definitions/summaries.json' with { type: 'json' }
import { primitiveCheckOf } from '../../lambdas/fhir/validate/primitive.ts'
import { shapeOf } from '../../lambdas/fhir/validate/type-shapes.ts'
import { readTypeDefinitions } from '../../search-mappings/generate/hl7.ts'
import { generateFiles } from '../../search-mappings/generate.ts'

const ROOT = join(import.meta.dirname, '../..')

describe('generated files', () => {
  it('are up to date (else: npm run generate)', () => {
    const stale = [...generateFiles()].filter(([path, text]) => readFileSync(join(ROOT, path), 'utf8') !== text).map(([path]) => path)
    expect(stale).toEqual([])
  })
})

describe('the definitions of R4', () => {
  it('have 146 resource types, from Account to VisionPrescription', () => {
    expect(R4.resourceTypes).toHaveLength(146)
    expect([R4.resourceTypes[0], R4.resourceTypes.at(-1)]).toEqual(['Account', 'VisionPrescription'])
  })

  it('define every type that an element has', () => {
    const types = new Set(Object.values(R4.shapes).flatMap(({ elements }) => Object.values(elements).map(({ type }) => type)))
    expect(
      [...types].filter((type) => type !== 'Resource' && R4.shapes[type] === undefined && primitiveCheckOf(type) === undefined),
    ).toEqual([])
  })

  it('give the validator a shape for every type', () => {
    for (const type of Object.keys(R4.shapes)) expect(shapeOf(type).members.size).toBeGreaterThan(0)
  })

  it('list each type of a choice as an element of its own', () => {
    const { elements } = R4.shapes.Observation!
    expect(elements.valueQuantity).toEqual({ type: 'Quantity', choice: 'value' })
    expect(elements.value).toBeUndefined()
  })

  it('contain every invariant of R4 except the listed ones', () => {
    const NATIVE = ['ele-1', 'ext-1', 'dom-2', 'dom-3', 'dom-4', 'dom-5', 'ref-1', 'txt-1', 'txt-2']
    // ctm-1 needs other resources. The others belong to content references and repeat tst-7, tst-10, tst-12 and tst-5.
    const NOT_CHECKED = ['ctm-1', 'tst-11', 'tst-13', 'tst-6', 'tst-8', 'tst-9']
    const compiled = new Set(
      Object.values(invariants as unknown as Record<string, { key: string }[]>).flatMap((rules) => rules.map(({ key }) => key)),
    )
    const all = readTypeDefinitions().flatMap((type) => type.snapshot!.element.flatMap(({ constraint = [] }) => constraint))
    const missing = new Set(all.filter(({ severity, key }) => severity === 'error' && !compiled.has(key)).map(({ key }) => key))
    expect([...missing].sort()).toEqual([...NATIVE, ...NOT_CHECKED].sort())
  })

  it('list the elements of a summary', () => {
    const words = (text: string) => text.split(' ')
    expect(words(summaries.Patient.summary)).toEqual(expect.arrayContaining(['name', 'link']))
    expect(words(summaries.Patient.summary)).not.toContain('contact')
    expect(words(summaries.Patient.others)).toEqual(expect.arrayContaining(['contact', 'photo']))
    expect(words(summaries.Patient.choices)).toContain('multipleBirth:Boolean,Integer')
    expect(words(summaries.DocumentReference.summary)).toContain('!content:DocumentReference.content')
    expect(words(summaries.Attachment.summary)).not.toContain('data')
    expect(words(summaries.Observation.summary).filter((word) => word.startsWith('!'))).toEqual(['!status', '!code'])
    expect(Object.keys(summaries)).toEqual(expect.arrayContaining([...R4.resourceTypes]))
  })
})
