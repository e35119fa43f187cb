/** Types of the parts of @lhncbc/ucum-lhc that this project uses, because the package contains none. */
declare module '@lhncbc/ucum-lhc' {
  type Unit = { readonly isArbitrary_?: boolean; convertFrom(value: number, from: Unit): number }

  /**
   * Unit that is `baseFactorStr_` × `csUnitString_`, where the latter is another unit. Both are null for base units, special units and
   * products.
   */
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
