// A random source that is both unguessable and repeatable.
//
// Attempt tokens must not be predictable from earlier ones, and the engine must behave equally for
// equal histories. So randomness is the AES-128-CTR key stream of a seed: a node seeds it from the
// operating system, a simulation from its seed number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace takt::internal {

using RandomSeed = std::array<std::uint8_t, 16>;

// From the operating system. Aborts if it has none to give.
RandomSeed NewRandomSeed();

// A seed that spells a number, for tests and simulations.
RandomSeed SeedOf(std::uint64_t number);

class Random {
  public:
    explicit Random(const RandomSeed& seed);
    ~Random();
    Random(const Random&) = delete;
    Random& operator=(const Random&) = delete;

    std::uint64_t Next();

    // Uniform in [0, bound). REQUIRES: bound > 0.
    std::uint64_t Below(std::uint64_t bound);

    // Uniform in [0, 1).
    double Fraction();

    void Fill(std::span<std::uint8_t> bytes);

  private:
    void Refill();

    struct Cipher;
    std::unique_ptr<Cipher> cipher_;
    std::array<std::uint8_t, 1024> pool_;
    std::size_t used_;
};

}  // namespace takt::internal
