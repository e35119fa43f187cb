import { describe, expect, it } from '@jest/globals'
import { isFault, MachineFault, notApplied } from '../../lambdas/ports/faults.ts'

describe('a machine fault', () => {
  it.each([
    ['store-damaged', 'Damaged: text'],
    ['index-damaged', 'Damaged: text'],
    ['overloaded', 'Error: text'],
  ] as const)('has the name of its log lines: %s', (fault, text) => {
    expect(String(new MachineFault(fault, 'text'))).toBe(text)
  })

  it('is recognized by its kind, and by one of several', () => {
    const error = new MachineFault('disk-full')
    expect([isFault(error, 'disk-full'), isFault(error, 'overloaded', 'disk-full'), isFault(error, 'overloaded')]).toEqual([
      true,
      true,
      false,
    ])
    expect(isFault(Object.assign(new Error(), { fault: 'disk-full' }), 'disk-full')).toBe(false)
  })

  it('keeps the keys of documents, not their content', () => {
    const document = { tenant: 't', type: 'Patient', id: 'a', version: 1 }
    const error = notApplied([{ ...document, ...{ keys: { family: ['SECRET'] } } }], 'cause')
    expect(error).toMatchObject({ message: '1 documents are not indexed yet', cause: 'cause', documents: [document] })
    expect(JSON.stringify(error)).not.toContain('SECRET')
  })
})
