/** What this project uses of @lhncbc/ucum-lhc, which has no types of its own. */
declare module '@lhncbc/ucum-lhc' {
  type Unit = { readonly isArbitrary_?: boolean; convertFrom(value: number, from: Unit): number }

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
