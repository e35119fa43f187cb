/** What this project uses of @lhncbc/ucum-lhc, which has no types of its own. */
declare module '@lhncbc/ucum-lhc' {
  type Unit = { readonly isArbitrary_?: boolean; convertFrom(value: number, from: Unit): number }

  /** `baseFactorStr_` × `csUnitString_`, in other units; null of base units, of special units and of products. */
  type DefinedUnit = {
    readonly isBase_: boolean
    readonly magnitude_: number
    readonly csUnitString_: string | null
    readonly baseFactorStr_: string | null
  }

  export const UnitTables: { getInstance(): { getUnitByCode(code: string): DefinedUnit | null | undefined } }

  export const UcumLhcUtils: {
    getInstance(): {
      getSpecifiedUnit(code: string, action: 'validate'): { readonly unit: Unit | null }
      convertToBaseUnits(
        code: string,
        value: number,
      ): {
        readonly status: 'succeeded' | 'invalid' | 'failed' | 'error'
        readonly magnitude: number | null
        readonly unitToExp: Readonly<Record<string, number>>
        readonly fromUnitIsSpecial: boolean
      }
    }
  }
}
