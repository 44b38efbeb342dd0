-- d = c + sum of a(k) * b(k) of fp16, c and d fp32: terms aligned at the largest exponent, truncated to F fraction bits,
-- added exactly and truncated once. Three registers: products, aligned terms, the sum.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity dot_vhdl is
  generic (
    L : positive := 4;
    F : positive := 23;
    CARRY : positive := 3  -- integer bits of the sum above those of one product
  );
  port (
    clk : in std_logic;
    a : in std_logic_vector(16 * L - 1 downto 0);
    b : in std_logic_vector(16 * L - 1 downto 0);
    c : in std_logic_vector(31 downto 0);
    d : out std_logic_vector(31 downto 0)
  );
end entity;

architecture pipelined of dot_vhdl is
  constant W : positive := 3 + CARRY + F;
  subtype exponent is signed(9 downto 0);
  subtype term is signed(W - 1 downto 0);
  type exponents is array (natural range <>) of exponent;
  type products is array (natural range <>) of unsigned(21 downto 0);
  type terms is array (natural range <>) of term;

  constant ZERO_READS : exponent := to_signed(-126, 10);

  function is_zero(x : std_logic_vector(15 downto 0)) return std_logic is
  begin
    if unsigned(x(14 downto 0)) = 0 then
      return '1';
    end if;
    return '0';
  end function;

  function is_infinite(x : std_logic_vector(15 downto 0)) return std_logic is
  begin
    if x(14 downto 10) = "11111" and unsigned(x(9 downto 0)) = 0 then
      return '1';
    end if;
    return '0';
  end function;

  function is_nan(x : std_logic_vector(15 downto 0)) return std_logic is
  begin
    if x(14 downto 10) = "11111" and unsigned(x(9 downto 0)) /= 0 then
      return '1';
    end if;
    return '0';
  end function;

  function exponent_of(x : std_logic_vector(15 downto 0)) return exponent is
  begin
    if is_zero(x) = '1' then
      return ZERO_READS;
    elsif unsigned(x(14 downto 10)) = 0 then
      return to_signed(-14, 10);
    end if;
    return signed(resize(unsigned(x(14 downto 10)), 10)) - 15;
  end function;

  function significand_of(x : std_logic_vector(15 downto 0)) return unsigned is
  begin
    if unsigned(x(14 downto 10)) = 0 then
      return unsigned('0' & x(9 downto 0));
    end if;
    return unsigned('1' & x(9 downto 0));
  end function;

  function aligned(magnitude : unsigned; distance : exponent; negative : std_logic) return term is
    variable kept : unsigned(W - 1 downto 0);
  begin
    kept := shift_right(resize(magnitude, W), to_integer(unsigned(distance)));
    if negative = '1' then
      return -signed(kept);
    end if;
    return signed(kept);
  end function;

  signal product_1 : products(0 to L - 1);
  signal exponent_1 : exponents(0 to L);
  signal negative_1 : std_logic_vector(L downto 0);
  signal c_significand_1 : unsigned(23 downto 0);
  signal nan_1, plus_1, minus_1, nan_2, plus_2, minus_2, nan_3, plus_3, minus_3 : std_logic;
  signal term_2 : terms(0 to L);
  signal e_max_2, e_max_3 : exponent;
  signal total_3 : term;
begin

  multiply : process (clk)
    variable x, y : std_logic_vector(15 downto 0);
    variable nan, plus, minus, invalid, infinite, negative : std_logic;
  begin
    if rising_edge(clk) then
      nan := '0';
      plus := '0';
      minus := '0';
      for k in 0 to L - 1 loop
        x := a(16 * k + 15 downto 16 * k);
        y := b(16 * k + 15 downto 16 * k);
        negative := x(15) xor y(15);
        infinite := is_infinite(x) or is_infinite(y);
        invalid := (is_infinite(x) and is_zero(y)) or (is_zero(x) and is_infinite(y));
        nan := nan or invalid or is_nan(x) or is_nan(y);
        plus := plus or (infinite and not negative);
        minus := minus or (infinite and negative);
        negative_1(k) <= negative;
        exponent_1(k) <= exponent_of(x) + exponent_of(y);
        product_1(k) <= significand_of(x) * significand_of(y);
      end loop;
      negative_1(L) <= c(31);
      if unsigned(c(30 downto 23)) = 0 then
        exponent_1(L) <= ZERO_READS;
        c_significand_1 <= unsigned('0' & c(22 downto 0));
      else
        exponent_1(L) <= signed(resize(unsigned(c(30 downto 23)), 10)) - 127;
        c_significand_1 <= unsigned('1' & c(22 downto 0));
      end if;
      if c(30 downto 23) = "11111111" then
        if unsigned(c(22 downto 0)) /= 0 then
          nan := '1';
        elsif c(31) = '1' then
          minus := '1';
        else
          plus := '1';
        end if;
      end if;
      nan_1 <= nan or (plus and minus);
      plus_1 <= plus;
      minus_1 <= minus;
    end if;
  end process;

  align : process (clk)
    variable e_max : exponent;
  begin
    if rising_edge(clk) then
      e_max := exponent_1(L);
      for k in 0 to L - 1 loop
        if exponent_1(k) > e_max then
          e_max := exponent_1(k);
        end if;
      end loop;
      for k in 0 to L - 1 loop
        term_2(k) <= aligned(shift_left(resize(product_1(k), F + 2), F - 20), e_max - exponent_1(k), negative_1(k));
      end loop;
      term_2(L) <= aligned(shift_left(resize(c_significand_1, F + 2), F - 23), e_max - exponent_1(L), negative_1(L));
      e_max_2 <= e_max;
      nan_2 <= nan_1;
      plus_2 <= plus_1;
      minus_2 <= minus_1;
    end if;
  end process;

  add : process (clk)
    variable total : term;
  begin
    if rising_edge(clk) then
      total := (others => '0');
      for k in 0 to L loop
        total := total + term_2(k);
      end loop;
      total_3 <= total;
      e_max_3 <= e_max_2;
      nan_3 <= nan_2;
      plus_3 <= plus_2;
      minus_3 <= minus_2;
    end if;
  end process;

  convert : process (all)
    variable magnitude, normal : unsigned(W - 1 downto 0);
    variable place : natural range 0 to W - 1;
    variable field : signed(10 downto 0);
    variable significand : unsigned(23 downto 0);
    variable rest : std_logic_vector(30 downto 0);
  begin
    magnitude := unsigned(total_3);
    if total_3 < 0 then
      magnitude := unsigned(-total_3);
    end if;
    place := 0;
    for i in 0 to W - 1 loop
      if magnitude(i) = '1' then
        place := i;
      end if;
    end loop;
    normal := shift_left(magnitude, W - 1 - place);
    significand := normal(W - 1 downto W - 24);
    field := resize(e_max_3, 11) + (127 - F) + to_signed(place, 11);
    if field < 1 then
      significand := shift_right(significand, to_integer(unsigned(to_signed(1, 11) - field)));
      field := (others => '0');
    end if;
    rest := std_logic_vector(field(7 downto 0)) & std_logic_vector(significand(22 downto 0));
    if field > 254 then
      rest := (30 downto 23 => '1', others => '0');
    end if;
    if magnitude = 0 then
      rest := (others => '0');
    end if;
    if nan_3 = '1' then
      d <= x"7fffffff";
    elsif plus_3 = '1' then
      d <= x"7f800000";
    elsif minus_3 = '1' then
      d <= x"ff800000";
    elsif unsigned(rest) = 0 then
      d <= (others => '0');
    else
      d <= total_3(W - 1) & rest;
    end if;
  end process;

end architecture;
