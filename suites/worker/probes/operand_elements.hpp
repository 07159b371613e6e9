// Single elements of an operand, and the numbers that are put into it to find and check an order of summation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

// The numbers that a question puts into an operand of one type.
struct OrderNumbers {
  double huge;  // absorbs all ones that are added to it
  double one;   // what counts as 1
  double tiny;  // 1 + e, whose square loses its last bit when it is rounded; 0: no square does
  int largest;  // a result of this type counts this many ones exactly
};

OrderNumbers order_numbers(const at::Tensor& tensor);

// These access an element by its row-major index, whatever the strides, of a floating-point tensor on the CPU.
void set_element(const at::Tensor& tensor, std::int64_t element, double value);
double element_of(const at::Tensor& tensor, std::int64_t element);

// All elements, row-major.
std::vector<double> plain_values(const at::Tensor& tensor);

// Bell-shaped random numbers, of full precision in the tensor's type and the same on every stack. If they are to be of
// many sizes, each is multiplied by a power of two that depends on its place.
at::Tensor random_operand(const at::Tensor& as, std::uint64_t seed, const std::string& name, bool of_many_sizes);

}  // namespace reprobench
