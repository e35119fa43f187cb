/** The mix of a load, as a file gives it. */
import { describe, expect, it } from '@jest/globals'
import { DEFAULT_MIX, type Mix, parseMix } from '../../lib/model/load.ts'
import { unitsOf } from '../../lib/model/table-load.ts'

describe('A mix', () => {
  it('has the defaults where the file is silent', () => {
    expect(parseMix({})).toEqual(DEFAULT_MIX)
    expect(parseMix({ versions: 4 })).toEqual({ ...DEFAULT_MIX, versions: 4 })
    expect(Object.values(DEFAULT_MIX.types).reduce((sum, each) => sum + each)).toBeCloseTo(1)
  })

  it('may have other identifiers than the sample, which a create writes and an update does not', () => {
    const mix = parseMix({ creates: 0.5, types: { Observation: 0.5, Patient: 0.5 }, identifiers: { Observation: 2 } })
    expect(mix.identifiers).toEqual({ Observation: 2 })
    const writes = (each: Mix) => unitsOf({ resources: 0, writes: 100, reads: 0, searches: 0, mix: each }).table.writes
    // 50 creates each second, half of them with 2 identifiers each and half with 5.
    expect(writes(mix) - writes({ ...mix, identifiers: { Patient: 0 } })).toBeCloseTo(50 * 3.5)
  })

  it('may name any resource type, with decimals that add up to 1', () =>
    expect(parseMix({ creates: 1, types: { Observation: 0.7, Basic: 0.2, Patient: 0.1, Claim: 0 } }).types).toEqual({
      ...{ Observation: 0.7, Basic: 0.2, Patient: 0.1 },
    }))

  it.each<[unknown, string]>([
    [[], 'a mix must be an object of creates, versions, types, identifiers'],
    [{ create: 1 }, 'create is not a member of a mix. Accepted: creates, versions, types, identifiers'],
    [{ creates: 1.1 }, 'creates must be a number from 0 to 1, the share of creates among the writes'],
    [{ creates: '1' }, 'creates must be a number from 0 to 1, the share of creates among the writes'],
    [{ versions: 0.5 }, 'versions must be a number from 1 on, the stored versions of a resource'],
    [{ types: 1 }, 'types must be an object of shares by resource type'],
    [{ types: { Observations: 1 } }, 'types.Observations is not a resource type of R4'],
    [{ types: { Observation: -1, Claim: 2 } }, 'types.Observation must be a number from 0 to 1, the share of the resources'],
    [{ types: { Observation: 0.8, Claim: 0.1 } }, 'the shares in types add up to 0.9, but must add up to 1'],
    [{ identifiers: 1 }, 'identifiers must be an object of numbers by resource type'],
    [{ identifiers: { Patients: 1 } }, 'identifiers.Patients is not a resource type of R4'],
    [{ identifiers: { Patient: -1 } }, 'identifiers.Patient must be a number from 0 on, the mean number of identifiers of a resource'],
    [{ types: {} }, 'the shares in types add up to 0, but must add up to 1'],
  ])('is refused with the location: %j', (mix, message) => expect(() => parseMix(mix)).toThrow(new RangeError(message)))
})
